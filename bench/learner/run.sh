#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The learner on the processor beside its peers, by turns: run.sh [--rounds 3] [--seconds 3] [--threads 1,2].
# The trainer beside eager PyTorch; the replay beside cpprb, torchrl and dm-reverb. The environments of the
# peers (scripts/python_env.sh torch_peers, replay_peers) take 5 GB.
source "$(dirname "$0")/../../scripts/common.sh"
rounds=3 seconds=3 threads=1,2
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds|--seconds|--threads) [ $# -ge 2 ] || die "$1 needs a value"; printf -v "${1#--}" %s "$2"; shift 2 ;;
    *) die "unknown option $1; there are --rounds, --seconds, --threads" ;;
  esac
done
cd "$VIXEN_ROOT"
bin=build/release/bin
for program in learner_bench vixen; do
  [ -x "$bin/$program" ] || die "$bin/$program is missing: run scripts/build.sh release $program"
done
torch=$(scripts/python_env.sh torch_peers)
replay=$(scripts/python_env.sh replay_peers)
for count in ${threads//,/ }; do
  for case in "testbed 128" "default 1024"; do
    read -r net batch <<<"$case"
    arguments=(--net "$net" --batch_size "$batch" --threads "$count" --seconds "$seconds")
    say "trainer: $net network, batch $batch, threads: $count"
    python3 bench/learner/turns.py updates_per_second "$rounds" "$bin/vixen" bench learner --device cpu --rounds 1 \
      --json JSON_FILE "${arguments[@]}" -- "$torch" bench/peers/learner_peer.py "${arguments[@]}"
  done
done
for rows in 200000 1000000; do
  say "replay: $rows rows, batch 1,024"
  peers=(-- "$torch" bench/peers/replay_peers.py torchrl --rows $rows --seconds "$seconds"
    -- "$replay" bench/peers/replay_peers.py cpprb --rows $rows --seconds "$seconds")
  [ $rows -gt 200000 ] || peers=(-- "$replay" bench/peers/replay_peers.py reverb --rows 20000 --seconds "$seconds" "${peers[@]}")
  python3 bench/learner/turns.py rows_per_second "$rounds" "$bin/vixen" bench replay --rows $rows --rounds 1 \
    --seconds "$seconds" --json JSON_FILE "${peers[@]}"
done
