#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [--seconds N] [--jobs N] [--bin FOLDER] [--out FOLDER] [target…]: fuzzes the decoders of bytes from
# outside, N seconds each (default 60), each with --jobs processes (default 1) that share what they find.
# Builds preset `fuzz` unless --bin says where the programs are: they run anywhere with the libraries that
# `ldd` lists. Found inputs and logs stay in --out (default out/fuzz). Exit 1 when something was found.
source "$(dirname "$0")/common.sh"
seconds=60 jobs=1 bin='' out="$VIXEN_ROOT/out/fuzz" targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds|--jobs|--bin|--out) [ $# -ge 2 ] || die "$1 needs a value"; printf -v "${1#--}" %s "$2"; shift 2 ;;
    -*) die "unknown option $1; there are --seconds, --jobs, --bin, --out" ;;
    *) targets+=("$1"); shift ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(batch_decoder checkpoint collect_request config csv dbn http_request npy tensor_file weights)
if [ -z "$bin" ]; then
  "$VIXEN_ROOT/scripts/build.sh" fuzz
  bin="$VIXEN_ROOT/build/fuzz/tests"
fi
bin=$(cd "$bin" && pwd)
mkdir -p "$out"; out=$(cd "$out" && pwd)
# glibc would give the readers' buffers back to the system after each input and fetch them again.
export MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=1073741824
failed=0
printf '%-16s %14s %10s  %s\n' target executions 'a second' found
for target in "${targets[@]}"; do
  [ -x "$bin/${target}_fuzz" ] || die "$bin/${target}_fuzz is missing"
  work="$out/$target"; mkdir -p "$work/corpus" "$work/found"
  rm -f "$work"/job-*.log
  : >"$work/started"
  most=4096  # bytes: longer inputs cost more, and what they alone reach is in unit tests
  case "$target" in tensor_file|weights) most=16384 ;; esac
  pids=()
  for job in $(seq "$jobs"); do
    "$bin/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=$most -reload=1 \
      -print_final_stats=1 -artifact_prefix="$work/found/" "$work/corpus" \
      "$VIXEN_ROOT/tests/fuzz/corpus/$target" >"$work/job-$job.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work"/job-*.log | awk '{ s += $1 } END { print s + 0 }')
  printf '%-16s %14d %10d  %s\n' "$target" "$executions" $((executions / (seconds > 0 ? seconds : 1))) \
    "$(find "$work/found" -type f -newer "$work/started" | wc -l)"
done
[ $failed = 0 ] || die "a target failed; its input is in $out/TARGET/found, its log in $out/TARGET/job-N.log"
