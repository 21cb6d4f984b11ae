#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole loop on real bars: import → actor and learner → evaluation on bars never seen → report.
#   demo.sh [--minutes 4] [--data hourly|daily|FILE.csv] [--tz ZONE] [--out out/demo] [--preset release]
# --tz is the zone of the times in FILE.csv where they carry none. VIXEN_BIN_DIR: use these binaries, build nothing.
source "$(dirname "$0")/common.sh"
minutes=4 data=hourly out="$VIXEN_ROOT/out/demo" preset=release zone=() calendar=(--calendar equity)
while [ $# -gt 0 ]; do
  case "$1" in
    --minutes) minutes="$2"; shift 2 ;;
    --data) data="$2"; shift 2 ;;
    --tz) zone=(--tz "$2"); shift 2 ;;
    --out) out="$2"; shift 2 ;;
    --preset) preset="$2"; shift 2 ;;
    *) die "unknown option $1; there are --minutes, --data, --tz, --out, --preset" ;;
  esac
done
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "--minutes takes a number, not '$minutes'"
cd "$VIXEN_ROOT"
mkdir -p "$out"

if [ -n "${VIXEN_BIN_DIR:-}" ]; then
  say "1/5 Taking the binaries of $VIXEN_BIN_DIR"
  bin="$VIXEN_BIN_DIR"
else
  say "1/5 Building (preset $preset)"
  scripts/build.sh "$preset"
  bin="$VIXEN_ROOT/build/$preset/bin"
fi

say "2/5 Importing real bars"
import_daily() {
  "$bin/vixen" import csv data/us-daily.csv.gz --adjust --split 0.8 --embargo 60 --out "$out/daily.safetensors"
}
case "$data" in
  hourly)
    import_daily
    hourly="$VIXEN_CACHE/data/eurusd-2017-hourly.csv"
    if [ -f "$hourly" ] || scripts/fetch_hourly.sh "$hourly"; then
      "$bin/vixen" import csv "$hourly" --tz UTC --max_gap 72h --split 0.8 --embargo 60 --out "$out/hourly.safetensors"
      dataset="$out/hourly.safetensors" calendar=(--calendar fx)
    else
      echo "The hourly bars could not be fetched: going on with the daily bars of this repository."
      dataset="$out/daily.safetensors"
    fi ;;
  daily) import_daily; dataset="$out/daily.safetensors" ;;
  *)
    [ -f "$data" ] || die "--data: no such file: $data"
    "$bin/vixen" import csv "$data" "${zone[@]}" --split 0.8 --embargo 60 --out "$out/own.safetensors"
    dataset="$out/own.safetensors" calendar=() ;;
esac

say "3/5 Training for $minutes minutes: actor and learner on loopback"
rm -f "$out/actor.ports" "$out"/training.jsonl "$out"/weights.safetensors
"$bin/vixen-actor" --config config/demo-actor.textproto --dataset "$dataset" \
  --listen 127.0.0.1:0 --metrics_listen 127.0.0.1:0 --port_file "$out/actor.ports" >"$out/actor.log" 2>&1 &
actor=$!
stop_actor() { kill -TERM "$actor" 2>/dev/null && wait "$actor"; }
trap 'stop_actor || true' EXIT
for _ in $(seq 300); do
  [ -s "$out/actor.ports" ] && break
  kill -0 "$actor" 2>/dev/null || { tail -n 5 "$out/actor.log" >&2; die "the actor ended at its start"; }
  sleep 0.1
done
[ -s "$out/actor.ports" ] || die "the actor did not come up within 30 s; see $out/actor.log"
port=$(head -n 1 "$out/actor.ports")
seconds=$(awk -v m="$minutes" 'BEGIN { print m * 60 }')
"$bin/vixen-learner" --config config/demo-learner.textproto --actor "127.0.0.1:$port" --dataset "$dataset" \
  --metrics_listen 127.0.0.1:0 --out "$out" --max_seconds "$seconds" --progress >"$out/learner.configuration"
trap - EXIT
stop_actor || die "the actor did not stop cleanly; see $out/actor.log"

say "4/5 Evaluating on the last fifth, which nobody trained on"
"$bin/vixen" eval --data "$dataset" --weights "$out/weights.safetensors" "${calendar[@]}" --out "$out/eval.json"

say "5/5 Report"
"$bin/vixen" report "$out/eval.json" --training "$out/training.jsonl" --out "$out/report.html"
echo "Report: $out/report.html"
