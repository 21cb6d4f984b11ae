#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# get_libtorch.sh [FOLDER]: unpacks the C++ part of the torch wheel (530 MB download, 0.5 GB on disk)
# for the learner. The layout of the wheels is kept: the libraries find each other by their own paths.
# Left out on purpose: torch/include/{google,fmt}, which would hide Debian's headers of other versions,
# and the wheel's own libgomp, so that one OpenMP runtime serves the process.
source "$(dirname "$0")/common.sh"
prefix="${1:-$VIXEN_LIBTORCH_ROOT}"
[ -f "$prefix/complete" ] && exit 0

say "Fetching LibTorch 2.11.0 into $prefix"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"  # Debian's own pip refuses: externally managed
"$work/venv/bin/pip" download -q --no-deps --only-binary=:all: \
  --python-version 3.12 --implementation cp --abi cp312 --abi none \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 \
  -d "$work" torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
mkdir -p "$prefix"
python3 - "$prefix" "$work"/*.whl <<'PYTHON'
import re
import sys
import zipfile

WANTED = re.compile(
    r"torch/include/(?!google/|fmt/)|torch/lib/(libtorch_cpu|libc10)\.so$"
    r"|nvidia/cu13/lib/lib(cudart|cupti)\.so\.13$|[^/]*dist-info/(licenses/|METADATA)")
for wheel in sys.argv[2:]:
    archive = zipfile.ZipFile(wheel)
    archive.extractall(sys.argv[1], [name for name in archive.namelist() if WANTED.match(name)])
PYTHON
touch "$prefix/complete"
