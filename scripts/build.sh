#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh [release|debug|asan|tsan|cuda] [target…]: leaves build/<preset>/bin/{vixen,vixen-actor,vixen-learner}.
source "$(dirname "$0")/common.sh"
preset="${1:-release}"; shift || true
case "$preset" in
  release|debug|asan|tsan|cuda) ;;
  *) die "unknown preset '$preset'; there are release, debug, asan, tsan, cuda" ;;
esac
"$VIXEN_ROOT/scripts/install_deps.sh"
cd "$VIXEN_ROOT"
if [ "$preset" = cuda ] && ! command -v nvcc >/dev/null; then
  [ -x /usr/local/cuda/bin/nvcc ] || die "preset cuda needs nvcc on PATH or in /usr/local/cuda/bin"
  export PATH="/usr/local/cuda/bin:$PATH"
fi
cmake --preset "$preset" >"$VIXEN_ROOT/build-configure.log" 2>&1 || { cat "$VIXEN_ROOT/build-configure.log"; rm -f "$VIXEN_ROOT/build-configure.log"; die "configuring preset $preset failed"; }
rm -f "$VIXEN_ROOT/build-configure.log"
targets=(); [ $# -gt 0 ] && targets=(--target "$@")
cmake --build --preset "$preset" "${targets[@]}"
