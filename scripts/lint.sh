#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [--format] [--tidy] [file…]: clang-format and clang-tidy (version 14) over the sources.
# --fix rewrites the format. LibTorch sources are left out of clang-tidy: 80 s a file.
source "$(dirname "$0")/common.sh"
cd "$VIXEN_ROOT"
format=no tidy=no fix=no; files=()
for argument in "$@"; do
  case "$argument" in
    --format) format=yes ;;
    --tidy) tidy=yes ;;
    --fix) fix=yes format=yes ;;
    -*) die "unknown option $argument" ;;
    *) files+=("$argument") ;;
  esac
done
[ $format$tidy = nono ] && format=yes tidy=yes
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files '*.cc' '*.h' '*.cu' '*.cuh')

if [ $fix = yes ]; then
  clang-format-14 -i "${files[@]}"
elif [ $format = yes ]; then
  clang-format-14 --dry-run --Werror "${files[@]}"
fi
if [ $tidy = yes ]; then
  [ -f build/release/compile_commands.json ] || die "clang-tidy needs scripts/build.sh release first"
  mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.cc$' | xargs grep -L -E 'torch/|ATen/' |
    grep -E "${VIXEN_TIDY_FILES:-.}")
  # The wheel's headers and Debian's gRPC are slow to parse: one file a core at a time.
  printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-14 --quiet -p build/release 2>&1 |
    grep -v -E '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -header-filter' || true
  exit "${PIPESTATUS[1]}"
fi
