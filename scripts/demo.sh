#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole loop: import → actor and learner → evaluation on bars never seen → report.
#   demo.sh [--data hourly|daily|FILE] [--tz ZONE] [--calendar 24x7|equity|fx|futures] [--minutes 4]
#           [--out out/demo] [--preset release] [-- FLAGS OF vixen import …]
# --data      hourly EUR/USD (default), daily US stocks, or a file of yours: CSV, .npy, .npz, .dbn, .dbn.zst
# --tz        zone of the times in FILE where they carry none, such as UTC or America/New_York
# --calendar  how many bars a year has, where FILE spans less than one
# --          what follows goes to `vixen import`, such as -- --decimal , --date_order dmy --embargo 20
# VIXEN_BIN_DIR: use these binaries, build nothing.
called_from=$PWD
source "$(dirname "$0")/common.sh"
usage() { sed -n '3,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
minutes=4 data=hourly out="$VIXEN_ROOT/out/demo" preset=release zone=() calendar=() import_flags=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h|--help) usage; exit 0 ;;
    --) shift; import_flags=("$@"); break ;;
    --minutes|--data|--tz|--calendar|--out|--preset) [ $# -ge 2 ] || die "$1 needs a value; demo.sh --help lists them" ;;
    *) die "unknown option $1; there are --data, --tz, --calendar, --minutes, --out, --preset, and -- before flags of vixen import" ;;
  esac
  case "$1" in
    --minutes) minutes="$2" ;;
    --data) data="$2" ;;
    --tz) zone=(--tz "$2") ;;
    --calendar) calendar=(--calendar "$2") ;;
    --out) out="$2" ;;
    --preset) preset="$2" ;;
  esac
  shift 2
done

# What can be found wrong is found before the build.
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ && "$minutes" =~ [1-9] ]] || die "--minutes takes a number above 0, not '$minutes'"
case "${calendar[1]:-24x7}" in
  24x7|equity|fx|futures) ;;
  *) die "--calendar ${calendar[1]}: one of 24x7, equity, fx, futures" ;;
esac
own=1
case "$data" in
  hourly|daily)
    own=0
    [ ${#zone[@]} = 0 ] && [ ${#import_flags[@]} = 0 ] || die "--tz and flags of vixen import are for a file of yours: --data FILE" ;;
  *)
    cd "$called_from"
    [ -e "$data" ] || die "--data $data: no such file in $PWD"
    [ -f "$data" ] && [ -r "$data" ] || die "--data $data: not a file that can be read"
    data=$(realpath "$data") ;;
esac
case "$out" in /*) ;; *) out="$called_from/$out" ;; esac
cd "$VIXEN_ROOT"
mkdir -p "$out" || die "--out $out: the folder cannot be made"

build() {
  [ -z "${VIXEN_BIN_DIR:-}" ] || return 0
  scripts/build.sh "$preset" "$@"
}
bin=$VIXEN_ROOT/build/$preset/bin
if [ -n "${VIXEN_BIN_DIR:-}" ]; then
  bin=$(cd "$called_from" && realpath -m "$VIXEN_BIN_DIR")
  say "1/5 Taking the binaries of $VIXEN_BIN_DIR"
else
  say "1/5 Building (preset $preset)"
fi
# The importer first: what is wrong in a file of yours is said before the longer part is built.
[ $own = 0 ] || build vixen
[ $own = 1 ] || build

say "2/5 Importing"
given() { [[ " ${import_flags[*]-} " == *" $1"[\ =]* ]]; }
import_own() {
  local format=csv
  case "$data" in *.npy|*.npz) format=npy ;; *.dbn|*.dbn.zst) format=dbn ;; esac
  given --split || import_flags+=(--split 0.8)
  given --embargo || import_flags+=(--embargo 60)
  # Paths among the flags are the caller's.
  (cd "$called_from" && "$bin/vixen" import $format "$data" "${zone[@]}" "${import_flags[@]}" --out "$out/own.safetensors")
}
import_daily() {
  "$bin/vixen" import csv data/us-daily.csv.gz --adjust --split 0.8 --embargo 60 --out "$out/daily.safetensors"
}
case "$data" in
  hourly)
    import_daily
    hourly="$VIXEN_CACHE/data/eurusd-2017-hourly.csv"
    if [ -f "$hourly" ] || scripts/fetch_hourly.sh "$hourly"; then
      "$bin/vixen" import csv "$hourly" --tz UTC --max_gap 72h --split 0.8 --embargo 60 --out "$out/hourly.safetensors"
      dataset="$out/hourly.safetensors"
      [ ${#calendar[@]} -gt 0 ] || calendar=(--calendar fx)
    else
      echo "The hourly bars could not be fetched: going on with the daily bars of this repository."
      dataset="$out/daily.safetensors"
      [ ${#calendar[@]} -gt 0 ] || calendar=(--calendar equity)
    fi ;;
  daily)
    import_daily
    dataset="$out/daily.safetensors"
    [ ${#calendar[@]} -gt 0 ] || calendar=(--calendar equity) ;;
  *)
    import_own
    dataset="$out/own.safetensors"
    build ;;
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

say "4/5 Evaluating on bars that nobody trained on"
"$bin/vixen" eval --data "$dataset" --weights "$out/weights.safetensors" "${calendar[@]}" --out "$out/eval.json"

say "5/5 Report"
"$bin/vixen" report "$out/eval.json" --training "$out/training.jsonl" --out "$out/report.html"
echo "Report: $out/report.html"
