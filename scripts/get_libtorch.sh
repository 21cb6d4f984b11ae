#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# get_libtorch.sh [--python] [FOLDER]: unpacks the C++ part of the torch wheel (530 MB download, 0.5 GB on disk)
# for the learner. The layout of the wheels is kept: the libraries find each other by their own paths.
# Left out on purpose: torch/include/{google,fmt}, which would hide Debian's headers of other versions,
# and the wheel's own libgomp, so that one OpenMP runtime serves the process.
# --python: also the wheel's Python part, into FOLDER/python (92 MB), for the test of the PyTorch example. It uses
# the libraries of the C++ part and works on the CPU only: torch_without_cuda.py says how. It is left out beside a
# complete C++ part that is not to be written to, another user's perhaps: the test skips itself then.
source "$(dirname "$0")/common.sh"
python=no
[ "${1:-}" = --python ] && { python=yes; shift; }
prefix="${1:-$VIXEN_LIBTORCH_ROOT}"
# The C++ part is the same in the wheels of every Python; the Python part needs this one's.
tag=cp312
[ $python = no ] || tag=$(python_tag)
if [ -f "$prefix/complete" ]; then
  [ $python = no ] || [ -f "$prefix/python/complete-$tag" ] && exit 0
  if [ ! -w "$prefix" ] || { [ -e "$prefix/python" ] && [ ! -w "$prefix/python" ]; }; then
    say "The Python part of LibTorch is left out: $prefix cannot be written to"
    exit 0
  fi
fi
say "Fetching LibTorch 2.11.0 into $prefix"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"  # Debian's own pip refuses: externally managed
"$work/venv/bin/pip" download -q --no-deps --only-binary=:all: \
  --python-version "${tag#cp}" --implementation cp --abi "$tag" --abi none \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 \
  -d "$work" torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
mkdir -p "$prefix"

unpack() {  # unpack FOLDER PATTERN WHEEL…
  python3 - "$@" <<'PYTHON'
import re
import sys
import zipfile

wanted = re.compile(sys.argv[2])
for wheel in sys.argv[3:]:
    archive = zipfile.ZipFile(wheel)
    archive.extractall(sys.argv[1], [name for name in archive.namelist() if wanted.match(name)])
PYTHON
}

if [ ! -f "$prefix/complete" ]; then
  unpack "$prefix" 'torch/include/(?!google/|fmt/)|torch/lib/(libtorch_cpu|libc10)\.so$|nvidia/cu13/lib/lib(cudart|cupti)\.so\.13$|[^/]*dist-info/(licenses/|METADATA)' "$work"/*.whl
  touch "$prefix/complete"
fi
if [ $python = yes ]; then
  rm -rf "$prefix/python"
  unpack "$prefix/python" '(?!torch/(include|share|test|lib|bin)/)(torch|torchgen|torch-[^/]*)/|torch/lib/lib(torch_python|torch|shm|torch_global_deps)\.so$|torch/bin/torch_shm_manager$' "$work"/torch-*.whl
  chmod +x "$prefix/python/torch/bin/torch_shm_manager"
  ln -s ../../../torch/lib/libtorch_cpu.so ../../../torch/lib/libc10.so "$prefix/python/torch/lib/"
  ln -s ../nvidia "$prefix/python/nvidia"
  python3 "$VIXEN_ROOT/scripts/torch_without_cuda.py" "$prefix/python/torch/lib"
  touch "$prefix/python/complete-$tag"
fi
