#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# get_cuda.sh FOLDER: nvcc 13.0 with its headers and static runtime from the wheels of CUDA (105 MB), for
# a build stage without NVIDIA's repository.
source "$(dirname "$0")/../scripts/common.sh"
[ $# = 1 ] || die "usage: get_cuda.sh FOLDER"
prefix=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download -q --no-deps --only-binary=:all: \
  --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
  --platform manylinux_2_28_x86_64 --python-version 3.12 -d "$work" \
  nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 \
  nvidia-cuda-cccl==13.0.85 nvidia-nvtx==13.0.85 nvidia-cuda-profiler-api==13.0.85 nvidia-cuda-culibos==13.0.85 \
  nvidia-cublas==13.1.0.3
python3 - "$work" "$prefix" <<'PYTHON'
import os
import pathlib
import re
import shutil
import sys
import zipfile

work, prefix = map(pathlib.Path, sys.argv[1:])
libraries = re.compile(r".*/lib(cublas|cublasLt|nvblas)\.so")  # only the headers of cuBLAS are needed
for wheel in work.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if not member.filename.startswith("nvidia/cu13/") or member.is_dir() or libraries.match(member.filename):
                continue
            target = prefix / member.filename.removeprefix("nvidia/cu13/")
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file)
            target.chmod((member.external_attr >> 16) & 0o755 or 0o644)  # zipfile alone drops the execute bits
os.symlink("lib", prefix / "lib64")
os.symlink("libcudart.so.13", prefix / "lib/libcudart.so")
PYTHON
