#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does it learn? Trains on synthetic markets whose best policy is known, with the real actor and learner,
# and compares the share of the optimum that the greedy policy earns with the bars of docs/testbed.md.
#   testbed.sh [--beds b0,b1,b2,b5] [--seeds 1,2,3] [--preset release] [--alpha 0.6] [--out out/testbed]
#              [--plant nstep_uncut|reward_x500|frozen_target]
# Exit 0: every bed passes. With --plant a fault is put into the learner, and exit 0 means that every bed
# failed its bar: that proves that the bars bite.
source "$(dirname "$0")/common.sh"
beds='' seeds=1,2,3 preset=release plant='' alpha=0.6 out="$VIXEN_ROOT/out/testbed"
while [ $# -gt 0 ]; do
  case "$1" in
    --beds|--seeds|--preset|--plant|--alpha|--out)
      [ $# -ge 2 ] || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"; shift 2 ;;
    *) die "unknown option $1; there are --beds, --seeds, --preset, --plant, --alpha, --out" ;;
  esac
done
case "$plant" in
  '') beds="${beds:-b0,b1,b2,b5}" fault=() ;;
  nstep_uncut) beds="${beds:-b2}" fault=(--plant_nstep_uncut --n_step 8) ;;
  reward_x500) beds="${beds:-b2}" fault=(--plant_reward_scale 500) ;;
  frozen_target) beds="${beds:-b2}" fault=(--plant_frozen_target) ;;
  *) die "--plant $plant: there are nstep_uncut, reward_x500, frozen_target" ;;
esac
bin="$VIXEN_ROOT/build/$preset/bin"
for program in vixen vixen-actor vixen-learner; do
  [ -x "$bin/$program" ] || die "$bin/$program is missing: run scripts/build.sh $preset"
done

# Transitions, least median, least seed, largest turnover.
bars_of() {
  case "$1" in
    b0) echo 5000 0.95 0.90 1 ;;
    b1) echo 10000 0.99 0.98 1 ;;
    b2) echo 20000 0.95 0.92 1 ;;
    b3) echo 20000 0.95 0.94 1 ;;
    b4) echo 100000 0.85 0.75 1 ;;
    b5) echo 100000 0.85 0.75 0.13 ;;
    *) die "--beds: no bar for '$1'; there are b0, b1, b2, b3, b4, b5" ;;
  esac
}
IFS=, read -ra bed_list <<<"$beds"
IFS=, read -ra seed_list <<<"$seeds"
for bed in "${bed_list[@]}"; do bars_of "$bed" >/dev/null; done

actor=''
stop_actor() {
  [ -n "$actor" ] || return 0
  local pid=$actor; actor=''
  kill -TERM "$pid" 2>/dev/null && wait "$pid"
}
trap 'stop_actor || true' EXIT

network=(--hidden1 64 --hidden2 64 --value_hidden 64 --advantage_hidden 64)

# train BED SEED TRANSITIONS FOLDER: leaves FOLDER/weights.safetensors.
train() {
  local bed=$1 seed=$2 transitions=$3 folder=$4
  rm -rf "$folder"; mkdir -p "$folder"
  "$bin/vixen" synth "$bed" --out "$folder/bed.safetensors" --seed "$seed" >"$folder/actor.textproto"
  "$bin/vixen-actor" --config "$folder/actor.textproto" --dataset "$folder/bed.safetensors" --executor cpu \
    --listen 127.0.0.1:0 --metrics_listen 127.0.0.1:0 --port_file "$folder/ports" \
    --seed "$seed" "${network[@]}" >"$folder/actor.log" 2>&1 &
  actor=$!
  for _ in $(seq 300); do
    [ -s "$folder/ports" ] && break
    kill -0 "$actor" 2>/dev/null || { tail -n 5 "$folder/actor.log" >&2; die "the actor ended at its start"; }
    sleep 0.1
  done
  [ -s "$folder/ports" ] || die "the actor did not come up within 30 s; see $folder/actor.log"
  timeout --signal=TERM 1800 "$bin/vixen-learner" --actor "127.0.0.1:$(head -n 1 "$folder/ports")" \
    --dataset "$folder/bed.safetensors" --out "$folder" --device cpu --metrics_listen 127.0.0.1:0 \
    --max_transitions "$transitions" --train_seed "$seed" --torch_threads 1 "${network[@]}" \
    --batch_size 128 --samples_per_insert 32 --learning_rate 5e-4 --adam_epsilon 1e-5 \
    --target_sync polyak --polyak_tau 0.005 --huber_delta 1 --max_gradient_norm 10 \
    --capacity 200000 --alpha "$alpha" --min_size 1000 \
    --epsilon_start 1 --epsilon_end 0.05 --epsilon_transitions $((transitions / 5)) \
    "${fault[@]}" >"$folder/learner.log" 2>&1 ||
    { tail -n 5 "$folder/learner.log" >&2; die "the learner failed on $bed, seed $seed; see $folder/learner.log"; }
  stop_actor || die "the actor did not stop cleanly; see $folder/actor.log"
}

# number KEY FILE: the first value of a numeric key.
number() { grep -oE "\"$1\":-?[0-9.e+-]+" "$2" | head -n 1 | cut -d: -f2; }

failed=0 passed=0
printf '%-4s %8s  %-8s %-6s  %-8s %-6s  %-8s  %s\n' bed rows median bar least bar verdict 'seeds: score (seconds)'
for bed in "${bed_list[@]}"; do
  read -r transitions median_bar least_bar turnover_bar < <(bars_of "$bed")
  scores=() details=() busy=0
  for seed in "${seed_list[@]}"; do
    folder="$out/${plant:-healthy}/$bed-$seed"
    started=$SECONDS
    train "$bed" "$seed" "$transitions" "$folder"
    seconds=$((SECONDS - started))
    "$bin/vixen" score "$bed" --weights "$folder/weights.safetensors" --json >"$folder/score.json"
    score=$(number score "$folder/score.json")
    # The first turnover of the object is the policy's own ("agent" sorts before "optimal").
    turnover=$(number turnover "$folder/score.json")
    if awk -v t="$turnover" -v most="$turnover_bar" 'BEGIN { exit !(t > most) }'; then busy=1; fi
    scores+=("$score")
    details+=("$(printf '%s: %.3f (%d)' "$seed" "$score" "$seconds")")
  done
  read -r median least < <(printf '%s\n' "${scores[@]}" | sort -g | awk '
    { s[NR] = $1 }
    END { m = NR % 2 ? s[(NR + 1) / 2] : (s[NR / 2] + s[NR / 2 + 1]) / 2; print m, s[1] }')
  verdict=failed
  if [ $busy = 1 ]; then
    verdict=busy
  elif awk -v m="$median" -v mb="$median_bar" -v l="$least" -v lb="$least_bar" 'BEGIN { exit !(m >= mb && l >= lb) }'; then
    verdict=passed
  fi
  [ $verdict = passed ] && passed=$((passed + 1)) || failed=$((failed + 1))
  printf '%-4s %8d  %-8.3f %-6s  %-8.3f %-6s  %-8s  %s\n' \
    "$bed" "$transitions" "$median" "$median_bar" "$least" "$least_bar" "$verdict" "$(IFS=';'; echo "${details[*]}")"
done

if [ -z "$plant" ]; then
  [ $failed = 0 ] || die "$failed of ${#bed_list[@]} beds failed their bars"
else
  [ $passed = 0 ] || die "the planted fault $plant went unnoticed on $passed of ${#bed_list[@]} beds"
  echo "The planted fault $plant failed every bar, as it must."
fi
