#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [--format] [--tidy] [--all] [file…]: clang-format and clang-tidy (version 14) over the sources.
# --fix rewrites the format. Without files clang-tidy takes the rooms that parse quickly; --all adds those
# with gRPC (20 s a file). LibTorch sources are left out: 80 s a file.
source "$(dirname "$0")/common.sh"
cd "$VIXEN_ROOT"
format=no tidy=no fix=no quick=yes; files=()
for argument in "$@"; do
  case "$argument" in
    --format) format=yes ;;
    --tidy) tidy=yes ;;
    --fix) fix=yes format=yes ;;
    --all) quick=no ;;
    -*) die "unknown option $argument" ;;
    *) files+=("$argument") ;;
  esac
done
[ $format$tidy = nono ] && format=yes tidy=yes
[ ${#files[@]} -eq 0 ] || quick=no
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files '*.cc' '*.h' '*.cu' '*.cuh')

if [ $fix = yes ]; then
  clang-format-14 -i "${files[@]}"
elif [ $format = yes ]; then
  clang-format-14 --dry-run --Werror "${files[@]}"
fi
if [ $tidy = yes ]; then
  [ -f build/release/compile_commands.json ] || die "clang-tidy needs scripts/build.sh release first"
  rooms='.'
  [ $quick = no ] || rooms='^(base|market|kernels|proto/codec|proto/config|server/stream|learner/replay|tool/eval|tool/report)/'
  mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.cc$' | grep -E "$rooms" | xargs grep -L -E 'torch/|ATen/')
  log=$(mktemp) errors=$(mktemp); trap 'rm -f "$log" "$errors"' EXIT
  if ! printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 2 clang-tidy-14 --quiet \
      --extra-arg=-Wno-unknown-warning-option -p build/release >"$log" 2>"$errors"; then
    cat "$log"
    cat "$errors" >&2
    die "clang-tidy found something"
  fi
  echo "clang-tidy: ${#sources[@]} files clean"
fi
