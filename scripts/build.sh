#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh [release|debug|asan|tsan|cuda|fuzz] [target…]: leaves build/<preset>/bin/{vixen,vixen-actor,vixen-learner}, and
# learner_bench for `vixen bench learner`;
# target `all` builds the tests and benchmarks too.
source "$(dirname "$0")/common.sh"
preset="${1:-release}"; shift || true
case "$preset" in
  release|debug|asan|cuda) programs=(vixen vixen-actor vixen-learner learner_bench) ;;
  tsan) programs=(vixen vixen-actor) ;;  # LibTorch does not run under ThreadSanitizer
  fuzz) programs=(fuzz_targets) ;;
  *) die "unknown preset '$preset'; there are release, debug, asan, tsan, cuda, fuzz" ;;
esac
"$VIXEN_ROOT/scripts/install_deps.sh"
cd "$VIXEN_ROOT"
if [ "$preset" = cuda ] && ! command -v nvcc >/dev/null; then
  [ -x /usr/local/cuda/bin/nvcc ] || die "preset cuda needs nvcc on PATH or in /usr/local/cuda/bin"
  export PATH="/usr/local/cuda/bin:$PATH"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log"; die "configuring preset $preset failed"; }
[ $# -gt 0 ] || set -- "${programs[@]}"
cmake --build --preset "$preset" --target "$@"
