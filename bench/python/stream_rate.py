# SPDX-License-Identifier: Apache-2.0
"""The Python consumer beside the C++ one, by turns: rows that are ready, over loopback. One JSON line a shape.

    PYTHONPATH=build/release/python python3 bench/python/stream_rate.py --bin build/release/bin --rounds 3

Both ends share the machine. `--touch` also reads every column, as a learner would.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

import numpy as np
import vixen
from vixen import weights


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def cpp_rate(flags, shape):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([flags.bin / "vixen", "bench", "stream", "--shapes", shape, "--rounds", "1", "--seconds",
                        str(flags.seconds), "--json", file.name], check=True, capture_output=True)
        stream = json.loads(pathlib.Path(file.name).read_text())["streams"][0]
    return stream["gigabytes_per_second"], stream["receiver_cpu_seconds_per_gigabyte"]


def push(actor):
    architecture = actor.info().architecture
    tensors = {}
    for name, (outputs, inputs) in weights.layers(architecture, "online").items():
        tensors[name + ".weight"] = np.full((outputs, inputs), 0.01, np.float32)
        tensors[name + ".bias"] = np.full(outputs, 0.01, np.float32)
    policy = actor.policy("bench")
    for kind in ("online", "target"):
        try:
            policy.push(**{kind: tensors})
        except vixen.WeightsError as error:
            if error.field != "probe":  # this actor takes weights over, but computes nothing
                raise


def python_rate(flags, shape):
    episodes, steps = shape.split("x")
    sender = subprocess.Popen([flags.bin / "ready_sender", "--episodes", episodes, "--steps", steps],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        with vixen.connect(f"127.0.0.1:{sender.stdout.readline().strip()}") as actor:
            push(actor)
            with actor.batches("bench", credit=4) as stream:
                end = time.perf_counter() + 0.4
                while time.perf_counter() < end:
                    next(stream)
                start, cpu, received = time.perf_counter(), cpu_seconds(), 0
                while (now := time.perf_counter()) < start + flags.seconds:
                    batch = next(stream)
                    received += batch.nbytes
                    if flags.touch:
                        for column in batch.values():
                            column.sum()
                cpu = cpu_seconds() - cpu
        return received / 1e9 / (now - start), cpu / (received / 1e9)
    finally:
        sender.stdin.close()
        sender.wait(10)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--shapes", nargs="*", default=["128x500", "1024x256"])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--touch", action="store_true")
    flags = parser.parse_args()
    for shape in flags.shapes:
        cpp, python = zip(*[(cpp_rate(flags, shape), python_rate(flags, shape)) for _ in range(flags.rounds)])
        rate = lambda rows: statistics.median(row[0] for row in rows)
        cpu = lambda rows: statistics.median(row[1] for row in rows)
        print(json.dumps({
            "bench": "python stream", "shape": shape, "touch": flags.touch,
            "cpp_gigabytes_per_second": round(rate(cpp), 2), "python_gigabytes_per_second": round(rate(python), 2),
            "ratio": round(statistics.median(p[0] / c[0] for p, c in zip(python, cpp)), 2),
            "ratios": [round(p[0] / c[0], 2) for p, c in zip(python, cpp)],
            "cpp_cpu_seconds_per_gigabyte": round(cpu(cpp), 2),
            "python_cpu_seconds_per_gigabyte": round(cpu(python), 2)}), flush=True)


if __name__ == "__main__":
    main()
