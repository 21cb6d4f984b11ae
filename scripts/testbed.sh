#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does it learn? Trains on synthetic markets whose best policy is known, with the real actor and learner,
# and compares the share of the optimum that the greedy policy earns with the bars of docs/testbed.md.
#   testbed.sh [--beds b0,b1,b2,b5] [--seeds 1,2,3] [--preset release] [--alpha 0] [--out out/testbed]
#              [--learner "--flag value …"] [--network "--hidden1 64 …"] [--jobs 1] [--plant FAULT]
# Beds: b0 … b5, b7 (barriers, without learning); b2_cheap is b2 with c = 0.1, b2_long, b4_long and b5_long have a longer budget. --jobs: how many
# beds and seeds are trained side by side, each by an actor and a learner of one thread. Faults:
# nstep_uncut, frozen_target, stale_bootstrap, wrong_action, no_bootstrap, lookahead, blind_portfolio,
# late_reward, ascent; `--plant all` tries each.
# Exit 0: every bed passes. With --plant a fault is put into the learner, and exit 0 means that every bed
# failed its bar: that proves that the bars bite.
source "$(dirname "$0")/common.sh"
beds='' seeds=1,2,3 preset=release plant='' alpha=0 learner='' jobs=1 out="$VIXEN_ROOT/out/testbed"
# The smallest heads: the bars were set with a network that has no hidden layer there.
network='--hidden1 64 --hidden2 64 --value_hidden 16 --advantage_hidden 16'
while [ $# -gt 0 ]; do
  case "$1" in
    --beds|--seeds|--preset|--plant|--alpha|--learner|--network|--jobs|--out)
      [ $# -ge 2 ] || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"; shift 2 ;;
    *) die "unknown option $1; there are --beds, --seeds, --preset, --plant, --alpha, --learner, --network, --jobs, --out" ;;
  esac
done
faults=(nstep_uncut frozen_target stale_bootstrap wrong_action no_bootstrap lookahead blind_portfolio late_reward ascent)
# What was started ends with this script, however that ends.
end_jobs() {
  local pids; pids=$(jobs -rp)
  # shellcheck disable=SC2086  # a list of process ids
  [ -z "$pids" ] || kill -TERM $pids 2>/dev/null || true
  wait
}
# The signals have traps of their own so that `wait` returns at once.
trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM
trap end_jobs EXIT
if [ "$plant" = all ]; then
  for fault in "${faults[@]}"; do
    "$0" --plant "$fault" --beds "${beds:-b2}" --seeds "$seeds" --preset "$preset" --alpha "$alpha" \
      --learner "$learner" --network "$network" --jobs "$jobs" --out "$out" &
    wait $!
  done
  exit
fi
[[ "$jobs" =~ ^[1-9][0-9]*$ ]] || die "--jobs $jobs: a number from 1"
read -ra given <<<"$learner"
read -ra widths <<<"$network"
case "$plant" in
  '') beds="${beds:-b0,b1,b2,b5}" fault=() ;;
  nstep_uncut) beds="${beds:-b2}" fault=(--plant_nstep_uncut --n_step 8) ;;
  frozen_target) beds="${beds:-b2}" fault=(--plant_frozen_target) ;;
  stale_bootstrap) beds="${beds:-b2}" fault=(--plant_stale_bootstrap) ;;
  wrong_action|no_bootstrap|lookahead|blind_portfolio|late_reward)
    beds="${beds:-b2}" fault=(--plant_row_fault "$plant") ;;
  ascent) beds="${beds:-b2}" fault=(--plant_ascent) ;;
  *) die "--plant $plant: there are all, ${faults[*]}" ;;
esac
bin="$VIXEN_ROOT/build/$preset/bin"
for program in vixen vixen-actor vixen-learner; do
  [ -x "$bin/$program" ] || die "$bin/$program is missing: run scripts/build.sh $preset"
done

# Transitions, least median score, least score of a seed, largest median turnover.
bars_of() {
  case "$1" in
    b0) echo 5000 0.95 0.90 2 ;;
    b1) echo 10000 0.99 0.98 2 ;;
    b2) echo 20000 0.95 0.92 2 ;;
    b2_cheap) echo 20000 0.95 0.93 2 ;;
    b2_long) echo 50000 0.97 0.95 2 ;;
    b4_long) echo 200000 0.90 0.80 2 ;;
    b3) echo 20000 0.95 0.94 2 ;;
    b4) echo 100000 0.85 0.75 2 ;;
    b5) echo 100000 0.85 0.75 0.13 ;;
    b5_long) echo 200000 0.90 0.85 0.13 ;;
    *) die "--beds: no bar for '$1'; there are b0, b1, b2, b2_cheap, b2_long, b3, b4, b4_long, b5, b5_long" ;;
  esac
}
# The market of a bed, as vixen synth and vixen score know it.
market_of() {
  case "$1" in
    b2_cheap) echo b2 --cost 0.1 ;;
    *) echo "${1%_long}" ;;
  esac
}
IFS=, read -ra bed_list <<<"$beds"
IFS=, read -ra seed_list <<<"$seeds"
# b7 has no training: its barriers are hit as often as theory says, or not.
for i in "${!bed_list[@]}"; do
  [ "${bed_list[$i]}" = b7 ] || continue
  [ -z "$plant" ] || die "--plant: the faults are the learner's, b7 has none"
  unset "bed_list[$i]"
  barriers=yes
done
for bed in "${bed_list[@]}"; do bars_of "$bed" >/dev/null; done

actor='' learner_pid=''
stop_actor() {
  [ -n "$actor" ] || return 0
  local pid=$actor; actor=''
  kill -TERM "$pid" 2>/dev/null && wait "$pid"
}
stop_training() {
  if [ -n "$learner_pid" ]; then
    kill -TERM "$learner_pid" 2>/dev/null || true
    wait "$learner_pid" || true
  fi
  stop_actor || true
}

# train BED SEED TRANSITIONS FOLDER: leaves FOLDER/weights.safetensors.
train() {
  local bed=$1 seed=$2 transitions=$3 folder=$4
  rm -rf "$folder"; mkdir -p "$folder"
  # So long that training hardly ever meets the same noise twice.
  read -ra market < <(market_of "$bed")
  "$bin/vixen" synth "${market[@]}" --out "$folder/bed.safetensors" --seed "$seed" --bars $((10 * transitions)) \
    >"$folder/actor.textproto"
  "$bin/vixen-actor" --config "$folder/actor.textproto" --dataset "$folder/bed.safetensors" --executor cpu --threads 1 \
    --listen 127.0.0.1:0 --metrics_listen 127.0.0.1:0 --port_file "$folder/ports" \
    --seed "$seed" "${widths[@]}" >"$folder/actor.log" 2>&1 &
  actor=$!
  for _ in $(seq 300); do
    [ -s "$folder/ports" ] && break
    kill -0 "$actor" 2>/dev/null || { tail -n 5 "$folder/actor.log" >&2; die "the actor ended at its start"; }
    sleep 0.1
  done
  [ -s "$folder/ports" ] || die "the actor did not come up within 30 s; see $folder/actor.log"
  timeout --signal=TERM 1800 "$bin/vixen-learner" --actor "127.0.0.1:$(head -n 1 "$folder/ports")" \
    --dataset "$folder/bed.safetensors" --out "$folder" --device cpu --metrics_listen 127.0.0.1:0 \
    --max_transitions "$transitions" --train_seed "$seed" --torch_threads 1 "${widths[@]}" \
    --batch_size 128 --samples_per_insert 32 --learning_rate 5e-4 --adam_epsilon 1e-5 \
    --target_sync polyak --polyak_tau 0.005 --huber_delta 1 --max_gradient_norm 10 \
    --capacity 200000 --alpha "$alpha" --min_size 1000 \
    --epsilon_start 1 --epsilon_end 0.05 --epsilon_transitions $((transitions / 5)) \
    ${given[@]+"${given[@]}"} "${fault[@]}" >"$folder/learner.log" 2>&1 &
  learner_pid=$!
  wait "$learner_pid" || { learner_pid=''; tail -n 5 "$folder/learner.log" >&2; die "the learner failed on $bed, seed $seed; see $folder/learner.log"; }
  learner_pid=''
  stop_actor || die "the actor did not stop cleanly; see $folder/actor.log"
}

# number KEY FILE: the first value of a numeric key.
number() { grep -oE "\"$1\":-?[0-9.e+-]+" "$2" | head -n 1 | cut -d: -f2; }

median_of() {
  printf '%s\n' "$@" | sort -g | awk '{ s[NR] = $1 } END { print (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2 }'
}
holds() { awk "BEGIN { exit !($1) }"; }

# run_seed BED SEED: trains and scores in FOLDER, and leaves the seconds of the training there.
run_seed() {
  local bed=$1 seed=$2 folder transitions started market
  trap 'exit 143' TERM
  trap stop_training EXIT
  folder="$out/${plant:-healthy}/$bed-$seed"
  read -r transitions _ < <(bars_of "$bed")
  started=$SECONDS
  train "$bed" "$seed" "$transitions" "$folder"
  echo $((SECONDS - started)) >"$folder/seconds"
  read -ra market < <(market_of "$bed")
  "$bin/vixen" score "${market[@]}" --weights "$folder/weights.safetensors" --json >"$folder/score.json"
}

for bed in "${bed_list[@]}"; do
  for seed in "${seed_list[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || { wait; exit 1; }; done
    (run_seed "$bed" "$seed") &
  done
done
while [ -n "$(jobs -rp)" ]; do wait -n || { wait; exit 1; }; done

failed=0 passed=0
# odds WHAT KEY LEAST MOST FLAGS…: a share of b7's results.
odds() {
  local what=$1 key=$2 least=$3 most=$4 value verdict=failed
  shift 4
  value=$(number "$key" <("$bin/vixen" score b7 --episodes 256 --steps 8000 --json "$@"))
  holds "$value >= $least && $value <= $most" && verdict=passed
  [ $verdict = passed ] && passed=$((passed + 1)) || failed=$((failed + 1))
  printf 'b7 %-32s %-8s %.4f, must be %s … %s: %s\n' "$what" "$key" "$value" "$least" "$most" "$verdict"
}
if [ "${barriers:-no}" = yes ]; then
  odds 'no drift, no time limit' profit 0.340 0.351
  odds 'no drift, no time limit' mean_bars 58.0 60.0
  odds 'drift of 0.5 basis points a bar' profit 0.694 0.706 --drift_bps 0.5
  odds 'time limit of 60 bars' profit 0.163 0.175 --max_holding_bars 60
  odds 'time limit of 60 bars' time 0.350 0.364 --max_holding_bars 60
fi
[ ${#bed_list[@]} = 0 ] || printf '%-8s %8s  %-7s %-5s  %-7s %-5s  %-8s %-5s  %-7s  %s\n' \
  bed rows median bar least bar turnover bar verdict 'seed: score (seconds)'
for bed in "${bed_list[@]}"; do
  read -r transitions median_bar least_bar turnover_bar < <(bars_of "$bed")
  scores=() turnovers=() details=()
  for seed in "${seed_list[@]}"; do
    folder="$out/${plant:-healthy}/$bed-$seed"
    [ -s "$folder/score.json" ] || die "$bed, seed $seed, left no score; see $folder"
    score=$(number score "$folder/score.json")
    # The first turnover of the object is the policy's own ("agent" sorts before "optimal").
    turnovers+=("$(number turnover "$folder/score.json")")
    scores+=("$score")
    details+=("$(printf '%s: %.3f (%d)' "$seed" "$score" "$(cat "$folder/seconds")")")
  done
  median=$(median_of "${scores[@]}") least=$(printf '%s\n' "${scores[@]}" | sort -g | head -n 1)
  turnover=$(median_of "${turnovers[@]}")
  verdict=failed
  holds "$median >= $median_bar && $least >= $least_bar && $turnover <= $turnover_bar" && verdict=passed
  [ $verdict = passed ] && passed=$((passed + 1)) || failed=$((failed + 1))
  printf '%-8s %8d  %-7.3f %-5s  %-7.3f %-5s  %-8.3f %-5s  %-7s  %s\n' "$bed" "$transitions" "$median" \
    "$median_bar" "$least" "$least_bar" "$turnover" "$turnover_bar" "$verdict" "$(IFS=,; echo "${details[*]}")"
done

if [ -z "$plant" ]; then
  [ $failed = 0 ] || die "$failed bars of $((failed + passed)) were missed"
else
  [ $passed = 0 ] || die "the planted fault $plant went unnoticed on $passed of ${#bed_list[@]} beds"
  echo "The planted fault $plant failed every bar, as it must."
fi
