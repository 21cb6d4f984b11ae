#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each hyper-parameter does to the test-bed: scripts/testbed.sh with one setting changed at a time, many runs side by
side. Prints a table of medians and least scores; --json keeps every score.
    hyper_parameters.py [--beds b2_cheap,b3,b5] [--seeds 1,2,3] [--jobs 2] [--only n_step] [--limit_s 0] [--json F]"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
BUDGET = {"b0": 5000, "b1": 10000, "b2": 20000, "b2_cheap": 20000, "b2_long": 50000, "b3": 20000, "b4": 100000,
          "b4_long": 200000, "b5": 100000, "b5_long": 200000}
HEADS = "--hidden1 64 --hidden2 64 --value_hidden {0} --advantage_hidden {0}"
WIDTHS = "--hidden1 {0} --hidden2 {0} --value_hidden 16 --advantage_hidden 16"

# name: flags of the learner, where it is not one: of both processes' network, or alpha. {share}: of the budget.
VARIANTS = {
    "as in docs/testbed.md": {},
    "learning_rate 1e-4": {"learner": "--learning_rate 1e-4"},
    "learning_rate 2e-4": {"learner": "--learning_rate 2e-4"},
    "learning_rate 2e-3": {"learner": "--learning_rate 2e-3"},
    "polyak_tau 0.001": {"learner": "--polyak_tau 0.001"},
    "polyak_tau 0.02": {"learner": "--polyak_tau 0.02"},
    "target_sync hard, target_period 200": {"learner": "--target_sync hard --target_period 200"},
    "target_sync hard, target_period 1000": {"learner": "--target_sync hard --target_period 1000"},
    "n_step 3": {"learner": "--n_step 3"},
    "n_step 5": {"learner": "--n_step 5"},
    "n_step 3, cut_exploratory off": {"learner": "--n_step 3 --cut_exploratory=false"},
    "batch_size 32": {"learner": "--batch_size 32"},
    "batch_size 512": {"learner": "--batch_size 512"},
    "samples_per_insert 8": {"learner": "--samples_per_insert 8"},
    "samples_per_insert 96": {"learner": "--samples_per_insert 96"},
    "alpha 0.6": {"alpha": "0.6"},
    "alpha 0.6, beta_start 1": {"alpha": "0.6", "learner": "--beta_start 1"},
    "alpha 0.6, beta_start 1, learning_rate 1e-4": {"alpha": "0.6", "learner": "--beta_start 1 --learning_rate 1e-4"},
    "alpha 0.6, beta 0": {"alpha": "0.6", "learner": "--beta_start 0 --beta_end 0"},
    "alpha 0.6, initial_priority max_priority": {"alpha": "0.6", "learner": "--initial_priority max_priority"},
    "huber_delta 0.1": {"learner": "--huber_delta 0.1"},
    "huber_delta 10": {"learner": "--huber_delta 10"},
    "learner_double_dqn off": {"learner": "--learner_double_dqn=false"},
    "max_gradient_norm 1": {"learner": "--max_gradient_norm 1"},
    "optimizer adamw, weight_decay 0.01": {"learner": "--optimizer adamw --weight_decay 0.01"},
    "epsilon_end 0.01": {"learner": "--epsilon_end 0.01"},
    "epsilon_end 0.2": {"learner": "--epsilon_end 0.2"},
    "epsilon_transitions 1/20 of the budget": {"learner": "--epsilon_transitions {share:20}"},
    "epsilon_transitions the whole budget": {"learner": "--epsilon_transitions {share:1}"},
    "heads of 32": {"network": HEADS.format(32)},
    "heads of 64": {"network": HEADS.format(64)},
    "hidden layers of 32": {"network": WIDTHS.format(32)},
    "hidden layers of 128": {"network": WIDTHS.format(128)},
}


class Share:
    """{share:20}: a twentieth of a budget."""

    def __init__(self, budget):
        self.budget = budget

    def __format__(self, parts):
        return str(self.budget // int(parts))


def score(variant, bed, seed, folder):
    """Of one run, or what it said last when it failed."""
    settings = VARIANTS[variant]
    out = pathlib.Path(folder, f"{list(VARIANTS).index(variant)}-{bed}-{seed}")
    command = [SCRIPTS / "testbed.sh", "--beds", bed, "--seeds", str(seed), "--out", out, "--alpha", settings.get("alpha", "0"),
               "--learner", settings.get("learner", "").format(share=Share(BUDGET[bed]))]
    if "network" in settings:
        command += ["--network", settings["network"]]
    done = subprocess.run(command, capture_output=True, text=True)
    result = out / "healthy" / f"{bed}-{seed}" / "score.json"
    if not result.exists():
        return done.stderr.strip().splitlines()[-1]
    agent = json.loads(result.read_text())
    return {"score": agent["score"], "turnover": agent["agent"]["turnover"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beds", default="b2_cheap,b3,b5")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="variants whose name this regular expression matches from the start on")
    parser.add_argument("--limit_s", type=float, default=0, help="start no run after so many seconds; 0: no limit")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    beds, seeds = options.beds.split(","), options.seeds.split(",")
    variants = [name for name in VARIANTS if re.match(options.only, name)]
    deadline = time.monotonic() + (options.limit_s or 1e9)
    results = collections.defaultdict(dict)

    def run(task):
        variant, bed, seed = task
        if time.monotonic() < deadline:
            results[variant, bed][seed] = score(variant, bed, seed, folder)

    # The longest runs of a seed first, so that the last seconds are not one run's alone.
    tasks = [(variant, bed, seed) for seed in seeds for bed in sorted(beds, key=BUDGET.get, reverse=True) for variant in variants]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, tasks))

    print("| setting | " + " | ".join(f"{bed}: median, least (seeds)" for bed in beds) + " |")
    print("|---" * (len(beds) + 1) + "|")
    for variant in variants:
        cells = []
        for bed in beds:
            scores = [r["score"] for r in results[variant, bed].values() if isinstance(r, dict)]
            failed = [r for r in results[variant, bed].values() if isinstance(r, str)]
            cells.append(f"{statistics.median(scores):.3f}, {min(scores):.3f} ({len(scores)})" if scores else failed[0] if failed else "–")
        print(f"| {variant} | " + " | ".join(cells) + " |")
    if options.json:
        options.json.write_text(json.dumps([{"variant": variant, "bed": bed, "seed": seed, "result": result}
                                            for (variant, bed), runs in results.items() for seed, result in runs.items()]))


if __name__ == "__main__":
    main()
