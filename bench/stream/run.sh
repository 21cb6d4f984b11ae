#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--bin FOLDER] [--rounds N] [--shapes "NxL …"]: the batch stream beside `iperf3 -P 1` and beside a bulk
# transfer openssl s_client → s_server, all over loopback, taking turns; then the ratios of the medians.
# Needs iperf3 and openssl. Nothing else should run meanwhile: both ends share the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=build/release/bin rounds=5 shapes='128x500 1024x256'
while [ $# -gt 0 ]; do
  case "$1" in
    --bin|--rounds|--shapes) [ $# -ge 2 ] || { echo "$1 needs a value" >&2; exit 2; }; printf -v "${1#--}" %s "$2"; shift 2 ;;
    *) echo "unknown option $1; there are --bin, --rounds, --shapes" >&2; exit 2 ;;
  esac
done
for program in iperf3 openssl; do
  command -v $program >/dev/null || { echo "run.sh needs $program" >&2; exit 1; }
done
work=$(mktemp -d)
server=''
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
scripts/dev-certs.sh "$work/certificates"
port=5301
gigabytes=4
truncate -s ${gigabytes}G "$work/zeros"
mkfifo "$work/silence"; exec 9<>"$work/silence"  # s_server ends with its standard input

# Each transfer prints GB/s.
tcp() {
  iperf3 -s -1 -p $port >/dev/null & server=$!
  sleep 0.3
  iperf3 -c 127.0.0.1 -p $port -P 1 -t 2 -O 1 -J | python3 -c \
    'import json, sys; print(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 8e9)'
  wait $server || true; server=''
}
tls() {
  local of="$work/certificates"
  openssl s_server -accept $port -naccept 1 -quiet -cert "$of/actor.pem" -key "$of/actor.key" \
    -CAfile "$of/ca.pem" -Verify 1 -verify_quiet <&9 >/dev/null 2>&1 & server=$!
  sleep 0.3
  local start; start=$(date +%s.%N)
  openssl s_client -connect 127.0.0.1:$port -quiet -no_ign_eof -cert "$of/learner.pem" -key "$of/learner.key" \
    -CAfile "$of/ca.pem" <"$work/zeros" >/dev/null 2>&1 || true
  wait $server || true; server=''
  python3 -c "print($gigabytes * 2**30 / 1e9 / ($(date +%s.%N) - $start))"
}

for round in $(seq "$rounds"); do
  tcp >>"$work/tcp"
  tls >>"$work/tls"
  # shellcheck disable=SC2086  # a list of shapes
  "$bin/vixen" bench stream --rounds 1 --seconds 2 --shapes $shapes --certificates "$work/certificates" \
    --json "$work/round-$round.json" >/dev/null
done
uptime
python3 - "$work" <<'PYTHON'
import glob
import json
import statistics
import sys

folder = sys.argv[1]
tcp = [float(line) for line in open(folder + "/tcp")]
tls = [float(line) for line in open(folder + "/tls")]
streams = {}
for path in sorted(glob.glob(folder + "/round-*.json")):
    for row in json.load(open(path))["streams"]:
        shape = f'{row["episodes"]} x {row["steps"]}'
        streams.setdefault((shape, row["stream"]), []).append(row)

def spread(values):
    return f"{statistics.median(values):6.2f} GB/s ({min(values):.2f} … {max(values):.2f})"

def rates(shape, stream):
    return [row["gigabytes_per_second"] for row in streams[(shape, stream)]]

def cpu(shape, stream, end):
    return statistics.median(row[f"{end}_cpu_seconds_per_gigabyte"] for row in streams[(shape, stream)])

def ratio(above, below):
    return statistics.median(a / b for a, b in zip(above, below))

print(f"iperf3 -P 1                              {spread(tcp)}")
print(f"openssl s_client -> s_server             {spread(tls)}")
for (shape, stream) in streams:
    print(f"{shape:12} {stream:27} {spread(rates(shape, stream))}   CPU s/GB: "
          f"sender {cpu(shape, stream, 'sender'):.2f}, receiver {cpu(shape, stream, 'receiver'):.2f}")
print()
for shape in sorted({shape for shape, _ in streams}):
    plain, secure, naive = (rates(shape, s) for s in ("batch stream", "batch stream, mTLS", "one message a batch"))
    print(f"{shape:12} of iperf3 {ratio(plain, tcp):.0%} (bar 80 %), of one message a batch "
          f"{ratio(plain, naive):.2f} x (bar 2), mTLS of openssl {ratio(secure, tls):.0%} (bar 60 %)")
PYTHON
