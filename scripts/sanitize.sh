#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh asan|tsan [--all]: builds the unit tests of the rooms without LibTorch under a sanitizer
# and runs them; --all takes every test of the preset.
source "$(dirname "$0")/common.sh"
preset="${1:-}"
case "$preset" in asan|tsan) ;; *) die "say asan or tsan" ;; esac
cd "$VIXEN_ROOT"
if [ "${2:-}" = --all ]; then
  scripts/build.sh "$preset" all
  ctest --preset "$preset"
else
  scripts/build.sh "$preset" sanitized_tests
  ctest --preset "$preset" -L sanitized
fi
