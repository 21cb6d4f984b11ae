# SPDX-License-Identifier: Apache-2.0
"""Actor and learner as two processes on this machine: what each side reaches, one JSON line.

    VIXEN_SOURCE_DIR=. VIXEN_BIN_DIR=build/release/bin python3 bench/loop/loop_rate.py --episodes 128 --seconds 20

Standard library only. The dataset is the synthetic market b2 with the 51 features' width unless --dataset is given.
"""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/integration"))
from processes import Process, vixen  # noqa: E402


def scrape(port):
    """Sample name with labels → value."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            samples[name] = float(value)
    return samples


def cpu_seconds(process):
    """User and system time of a child so far."""
    fields = pathlib.Path(f"/proc/{process.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def total(samples, name):
    """Sum over the series of a metric."""
    return sum(value for key, value in samples.items() if re.match(name + r"(\{|$)", key))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset")
    parser.add_argument("--episodes", type=int, default=128)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--samples_per_insert", type=float, default=0.1)
    parser.add_argument("--capacity", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warm_up", type=float, default=5)
    parser.add_argument("--actor", nargs="*", default=[], metavar="FLAG", help="as executor=cuda")
    parser.add_argument("--learner", nargs="*", default=[], metavar="FLAG", help="as device=cuda")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        dataset = flags.dataset or folder / "market.safetensors"
        if not flags.dataset:
            vixen("synth", "b2", "--seed", 1, "--out", dataset)
        actor = Process(folder, "actor", "vixen-actor", "--dataset", dataset, "--listen", "127.0.0.1:0",
                        "--metrics_listen", "127.0.0.1:0", "--episodes", flags.episodes, "--steps", flags.steps,
                        *[f"--{flag}" for flag in flags.actor])
        learner = None
        try:
            port, actor_metrics = actor.ports()
            learner = Process(folder, "learner", "vixen-learner", "--actor", f"127.0.0.1:{port}", "--out",
                              folder / "out", "--cache", folder / "cache", "--metrics_listen", "127.0.0.1:0",
                              "--samples_per_insert", flags.samples_per_insert, "--capacity", flags.capacity,
                              *[f"--{flag}" for flag in flags.learner])
            learner_metrics = learner.ports()[0]
            learner.wait_for(lambda: total(scrape(actor_metrics), "vixen_transitions_total") > 0, "rows")
            time.sleep(flags.warm_up)
            look = lambda: (scrape(actor_metrics), scrape(learner_metrics), time.monotonic(),
                            cpu_seconds(actor), cpu_seconds(learner))
            before = look()
            time.sleep(flags.seconds)
            after = look()
        except Exception:
            for process in (actor, learner):
                if process is not None:
                    sys.stderr.write(process.log.read_text()[-2000:])
            raise
        finally:
            for process in (learner, actor):
                if process is not None:
                    process.kill()
        seconds = after[2] - before[2]
        rate = lambda side, name: (total(after[side], name) - total(before[side], name)) / seconds
        activities = sorted(set(re.findall(r'vixen_learner_activity_seconds_total\{activity="(\w+)"\}',
                                           "\n".join(after[1]))))
        info = next(key for key in after[0] if key.startswith("vixen_build_info"))
        print(json.dumps({
            "bench": "loop", "episodes": flags.episodes, "steps": flags.steps, "actor": info,
            "transitions_per_second": round(rate(0, "vixen_transitions_total")),
            "inserted_per_second": round(rate(1, "vixen_replay_inserts_total")),
            "updates_per_second": round(rate(1, "vixen_learner_updates_total"), 1),
            "sent_gb_per_second": round(rate(0, "vixen_stream_sent_bytes_total") / 1e9, 3),
            "launching_share": round(
                rate(0, r'vixen_actor_activity_seconds_total\{activity="launching"\}'), 3),
            "waiting_for_credit_share": round(
                rate(0, r'vixen_actor_activity_seconds_total\{activity="waiting_credit"\}'), 3),
            "learner_shares": {activity: round(rate(
                1, rf'vixen_learner_activity_seconds_total\{{activity="{activity}"\}}'), 3)
                               for activity in activities},
            "actor_cores": round((after[3] - before[3]) / seconds, 2),
            "learner_cores": round((after[4] - before[4]) / seconds, 2),
        }))


if __name__ == "__main__":
    main()
