#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh asan|tsan [--all]: builds unit tests under a sanitizer and runs them. asan takes all rooms
# without LibTorch, tsan those that have threads; --all takes every test of the preset.
source "$(dirname "$0")/common.sh"
preset="${1:-}"
case "$preset" in asan|tsan) ;; *) die "say asan or tsan" ;; esac
cd "$VIXEN_ROOT"
if [ "${2:-}" = --all ]; then
  scripts/build.sh "$preset" all
  ctest --preset "$preset"
elif [ "$preset" = tsan ]; then
  threaded=(base_test market_test kernels_test server_test learner_test learner_client_test)
  scripts/build.sh tsan "${threaded[@]}"
  ctest --preset tsan -R "^($(IFS='|'; echo "${threaded[*]}"))\$"
else
  scripts/build.sh asan sanitized_tests
  ctest --preset asan -L sanitized
fi
