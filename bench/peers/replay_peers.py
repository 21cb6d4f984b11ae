#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prioritised replays of others with the rows of `vixen bench replay`: one process, rows of 44 bytes inserted in pieces of
64,000 where the package takes pieces, then batches drawn by priority, read, and given new priorities. Prints JSON lines with
rows a second, by the clock and by CPU time. A package that is not installed is named and left out.
    replay_peers.py reverb|cpprb|torchrl [--rows 200000] [--batch_size 1024] [--seconds 4]"""
import argparse
import itertools
import json
import sys
import time

import numpy as np

ALPHA, BETA = 0.6, 0.4
PIECE = 64_000
BATCHES_OF_TD = 64  # priorities made ahead, so that only the replay's work is measured
COLUMNS = {"bar": ((), np.int32), "bootstrap_bar": ((), np.int32), "action": ((), np.uint8), "reward": ((), np.float32),
           "discount": ((), np.float32), "portfolio": ((3,), np.float32), "bootstrap_portfolio": ((3,), np.float32)}


def columns_of(rows):
    random = np.random.default_rng(1)
    made = {}
    for name, (shape, kind) in COLUMNS.items():
        if np.issubdtype(kind, np.integer):
            made[name] = random.integers(0, 45, (rows, *shape)).astype(kind)
        else:
            made[name] = random.standard_normal((rows, *shape)).astype(kind)
    return made, np.abs(random.standard_normal(rows)).astype(np.float32)


def batches_of_td(batch_size):
    return itertools.cycle(np.abs(np.random.default_rng(2).standard_normal((BATCHES_OF_TD, batch_size))).astype(np.float32))


class Watch:
    """By the clock and by this process's CPU time, which says more where others are at work."""

    def __init__(self):
        self.begin, self.cpu = time.perf_counter(), time.process_time()

    def rates(self, rows):
        return {"rows_per_second": round(rows / (time.perf_counter() - self.begin)),
                "rows_per_cpu_second": round(rows / (time.process_time() - self.cpu))}


def rate_of(draw_and_update, batch_size, seconds):
    draw_and_update()
    rows, watch = 0, Watch()
    while time.perf_counter() - watch.begin < seconds:
        draw_and_update()
        rows += batch_size
    return watch.rates(rows)


def reverb(options, columns, td):
    import importlib.metadata
    import reverb
    import tensorflow as tf
    table = reverb.Table("rows", sampler=reverb.selectors.Prioritized(ALPHA), remover=reverb.selectors.Fifo(), max_size=options.rows,
                         rate_limiter=reverb.rate_limiters.MinSize(1),
                         signature={name: tf.TensorSpec(shape, kind) for name, (shape, kind) in COLUMNS.items()})
    server = reverb.Server([table])
    client = reverb.Client(f"localhost:{server.port}")
    watch = Watch()
    with client.trajectory_writer(num_keep_alive_refs=1) as writer:
        for i in range(options.rows):
            writer.append({name: column[i] for name, column in columns.items()})
            writer.create_item("rows", float(td[i]), {name: writer.history[name][-1] for name in columns})
            if i % 40 == 39:
                writer.flush(20)
    inserted = watch.rates(options.rows)
    dataset = reverb.TrajectoryDataset.from_table_signature(
        f"localhost:{server.port}", "rows", max_in_flight_samples_per_worker=4 * options.batch_size).batch(options.batch_size)
    batches = iter(dataset)
    priorities = batches_of_td(options.batch_size)

    def turn(_lives=server):  # else its table is gone with this function
        sample = next(batches)
        keys, new = sample.info.key.numpy(), next(priorities)
        client.mutate_priorities("rows", updates=dict(zip(keys.tolist(), new.tolist())))
    return "dm-reverb " + importlib.metadata.version("dm-reverb"), inserted, turn


def cpprb(options, columns, td):
    import importlib.metadata
    from cpprb import PrioritizedReplayBuffer
    replay = PrioritizedReplayBuffer(options.rows, {name: {"shape": shape or 1, "dtype": kind} for name, (shape, kind) in COLUMNS.items()},
                                     alpha=ALPHA)
    watch = Watch()
    for first in range(0, options.rows, PIECE):
        piece = slice(first, first + PIECE)
        replay.add(**{name: column[piece] for name, column in columns.items()}, priorities=td[piece])
    inserted = watch.rates(options.rows)
    priorities = batches_of_td(options.batch_size)

    def turn():
        sample = replay.sample(options.batch_size, BETA)
        replay.update_priorities(sample["indexes"], next(priorities))
    return "cpprb " + importlib.metadata.version("cpprb"), inserted, turn


def torchrl(options, columns, td):
    import torch
    import torchrl
    from tensordict import TensorDict
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
    from torchrl.data.replay_buffers.samplers import PrioritizedSampler
    torch.set_num_threads(1)
    replay = TensorDictReplayBuffer(storage=LazyTensorStorage(options.rows), priority_key="td", batch_size=options.batch_size,
                                    sampler=PrioritizedSampler(options.rows, ALPHA, BETA))
    rows = TensorDict({name: torch.from_numpy(column) for name, column in {**columns, "td": td}.items()}, batch_size=[options.rows])
    watch = Watch()
    for first in range(0, options.rows, PIECE):
        replay.extend(rows[first:first + PIECE])
    inserted = watch.rates(options.rows)
    priorities = map(torch.from_numpy, batches_of_td(options.batch_size))

    def turn():
        sample = replay.sample()
        sample["td"] = next(priorities)
        replay.update_tensordict_priority(sample)
    return f"torchrl {torchrl.__version__}", inserted, turn


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", choices=["reverb", "cpprb", "torchrl"])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--batch_size", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    try:
        program, inserted, turn = {"reverb": reverb, "cpprb": cpprb, "torchrl": torchrl}[options.package](options, *columns_of(options.rows))
    except ImportError as missing:
        print(f"{options.package} is not installed here: {missing}", file=sys.stderr)
        return
    drawn = rate_of(turn, options.batch_size, options.seconds)
    for case, rates in (("insert", inserted), ("draw + update", drawn)):
        print(json.dumps({"program": program, "case": case, "rows": options.rows, "batch_size": options.batch_size,
                          **rates}), flush=True)


if __name__ == "__main__":
    main()
