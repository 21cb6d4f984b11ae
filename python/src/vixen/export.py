# SPDX-License-Identifier: Apache-2.0
"""vixen-export: batches of a running actor as NPZ files or as a Minari data set."""
from __future__ import annotations

import argparse
import pathlib
import sys

from . import VixenError, connect
from .connection import Tls
from .offline import EpisodeWriter, write_npz


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="vixen-export", description=__doc__.split(": ", 1)[1])
    parser.add_argument("--actor", required=True, metavar="HOST:PORT")
    parser.add_argument("--policy", default="default", help="whose weights are live there")
    parser.add_argument("--group", default="export", help="consumer group: other groups lose nothing to this one")
    parser.add_argument("--launches", type=int, default=1, help="how many batches")
    parser.add_argument("--npz", type=pathlib.Path, metavar="FOLDER", help="a file a batch, with states")
    parser.add_argument("--minari", type=pathlib.Path, metavar="FOLDER", help="episodes; the folder's name is the data set's")
    parser.add_argument("--tls_ca")
    parser.add_argument("--tls_certificate")
    parser.add_argument("--tls_key")
    flags = parser.parse_args(arguments)
    if flags.npz is None and flags.minari is None:
        parser.error("give --npz FOLDER or --minari FOLDER")
    tls = Tls(flags.tls_ca, flags.tls_certificate, flags.tls_key) if flags.tls_ca else None
    try:
        return export(flags, tls)
    except VixenError as error:
        print(f"vixen-export: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1


def export(flags: argparse.Namespace, tls: Tls | None) -> int:
    with connect(flags.actor, tls) as actor:
        writer = EpisodeWriter(flags.minari, flags.minari.name) if flags.minari else None
        if flags.npz:
            flags.npz.mkdir(parents=True, exist_ok=True)
        rows = 0
        with actor.batches(flags.policy, group=flags.group, limit=flags.launches, terms=True,
                           dataset=actor.dataset()) as stream:
            for batch in stream:
                rows += batch.rows
                if flags.npz:
                    name = f"{batch.header.run_id:016x}-{batch.header.sequence:06d}.npz"
                    write_npz(flags.npz / name, batch, states=True)
                if writer:
                    writer.add(batch)
    if writer:
        writer.close()
    print(f"{flags.launches} batches, {rows} rows" + (f", {writer.episodes} whole episodes" if writer else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
