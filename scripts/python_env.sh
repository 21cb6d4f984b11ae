#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Python environment of the tests ($VIXEN_CACHE/python) and prints its interpreter.
source "$(dirname "$0")/common.sh"
environment="$VIXEN_CACHE/python"
wanted="grpcio==1.62.3 protobuf==4.25.8 numpy==2.2.6"
if [ "$(cat "$environment/wanted" 2>/dev/null || true)" != "$wanted" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  # shellcheck disable=SC2086  # a list of packages
  "$environment/bin/pip" install -q --only-binary=:all: $wanted >&2
  printf '%s\n' "$wanted" > "$environment/wanted"
fi
echo "$environment/bin/python3"
