#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What more learners on one policy add: sampled rows a second of 1, 2 … ranks with one thread each, from recorded
batches, so that no actor takes part. Prints a JSON line a world size.
    ranks_rate.py BIN_DIR [--world 1 2] [--batch_size 1024] [--seconds 20] [--rounds 3] [-- learner's flags]"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def record(binaries, folder):
    """A dataset and 8 batches of 128 × 500 rows on it, by the default networks."""
    data = folder / "b2.safetensors"
    subprocess.run([binaries / "vixen", "synth", "b2", "--distractors", "50", "--bars", "100000", "--seed", "1", "--out", data],
                   check=True, stdout=subprocess.DEVNULL)
    ports = folder / "ports"
    actor = subprocess.Popen([binaries / "vixen-actor", "--dataset", data, "--listen", "127.0.0.1:0", "--metrics_listen",
                              "127.0.0.1:0", "--port_file", ports], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (ports.exists() and ports.read_text()):
        time.sleep(0.05)
    address = f"127.0.0.1:{ports.read_text().split()[0]}"
    learner = subprocess.Popen([binaries / "vixen-learner", "--actor", address, "--dataset", data, "--metrics_listen", "",
                                "--samples_per_insert", "0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([binaries / "vixen", "collect", "--actor", address, "--launches", "8", "--out", folder / "batches"],
                   check=True, stdout=subprocess.DEVNULL)
    for process in (learner, actor):
        process.terminate()
        process.wait()
    return data


def rate(binaries, folder, data, world, options):
    """Sampled rows a second of all ranks together, after the first seconds."""
    port = free_port()
    out = folder / f"out{world}"
    ranks = [subprocess.Popen(
        [binaries / "vixen-learner", "--offline", folder / "batches", "--dataset", data, "--out", out, "--metrics_listen", "",
         "--batch_size", str(options.batch_size), "--torch_threads", "1", "--samples_per_insert", "100000",
         "--checkpoint_seconds", "0", "--max_seconds", str(options.seconds), *options.flags],
        env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for rank in range(world)]
    for rank in ranks:
        if rank.wait() != 0:
            raise SystemExit(f"a rank of {world} failed")
    lines = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    updates = [line["updates_per_second"] for line in lines[3:-1]]
    return statistics.median(updates) * world * options.batch_size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--world", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch_size", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.flags = arguments[end + 1:]
    binaries = options.binaries.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data = record(binaries, folder)
        rates = {world: [] for world in options.world}
        for _ in range(options.rounds):
            for world in options.world:
                rates[world].append(rate(binaries, folder, data, world, options))
        for world in options.world:
            print(json.dumps({"ranks": world, "batch_size": options.batch_size, "flags": options.flags,
                              "sampled_rows_per_second": [round(r) for r in rates[world]],
                              "of_the_first": round(statistics.median(rates[world]) /
                                                    statistics.median(rates[options.world[0]]), 2)}))


if __name__ == "__main__":
    main()
