#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# get_torch_cuda.sh FOLDER: the shared libraries of the torch wheel and of the CUDA wheels that it needs,
# in the wheels' layout, without Python. 2.2 GB to fetch.
set -euo pipefail
[ $# = 1 ] || { echo "usage: get_torch_cuda.sh FOLDER" >&2; exit 2; }
prefix=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download -q --only-binary=:all: \
  --python-version 3.12 --implementation cp --abi cp312 --abi abi3 --abi none \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
  --platform manylinux_2_24_x86_64 --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 \
  --platform manylinux2014_x86_64 --platform linux_x86_64 \
  -d "$work" torch==2.11.0
mkdir -p "$prefix"
python3 - "$work" "$prefix" <<'PYTHON'
import pathlib
import re
import sys
import zipfile

work, prefix = map(pathlib.Path, sys.argv[1:])
# Python's own part and the wheel's libgomp (Debian's serves the process) stay out.
wanted = re.compile(r"torch/lib/(?!libtorch_python|libshm|libgomp)[^/]*\.so[.\d]*$|nvidia/.*\.so[.\d]*$"
                    r"|(torch|nvidia)[^/]*\.dist-info/(licenses/|METADATA)")
for wheel in sorted(work.glob("*.whl")):
    if wheel.name.startswith(("torch-", "nvidia_")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(prefix, [name for name in archive.namelist() if wanted.match(name)])
PYTHON
