# SPDX-License-Identifier: Apache-2.0
"""make_bars.py CSV DBN COUNT: the same one-minute bars, a random walk in cents, as a CSV file (epoch seconds) and as DBN version 3."""
import struct
import sys

import numpy as np


def main(csv_path, dbn_path, count):
    rng = np.random.default_rng(1)
    start = 1_500_000_000 // 60 * 60
    with open(csv_path, "wb") as csv, open(dbn_path, "wb") as dbn:
        csv.write(b"time,open,high,low,close,volume\n")
        dbn.write(metadata(start * 10**9))
        price, done = 1_000_000, 0
        while done < count:
            n = min(1_000_000, count - done)
            close = price + np.cumsum(rng.integers(-20, 21, n))
            close = np.maximum(close, 100_000)
            open_ = np.concatenate([[price], close[:-1]])
            high = np.maximum(open_, close) + rng.integers(0, 10, n)
            low = np.minimum(open_, close) - rng.integers(0, 10, n)
            volume = rng.integers(1, 5000, n)
            time = start + 60 * (done + np.arange(n, dtype=np.int64))
            rows = np.stack([time, open_, high, low, close, volume], 1).tolist()
            csv.write("".join(f"{t},{o // 100}.{o % 100:02},{h // 100}.{h % 100:02},{l // 100}.{l % 100:02},{c // 100}.{c % 100:02},{v}\n" for t, o, h, l, c, v in rows).encode())
            record = np.zeros(n, dtype=[("length", "u1"), ("type", "u1"), ("publisher", "<u2"), ("instrument", "<u4"), ("time", "<u8"),
                                        ("open", "<i8"), ("high", "<i8"), ("low", "<i8"), ("close", "<i8"), ("volume", "<u8")])
            record["length"], record["type"], record["publisher"], record["instrument"] = 14, 0x21, 1, 5602
            record["time"], record["volume"] = time * 10**9, volume
            for name, column in (("open", open_), ("high", high), ("low", low), ("close", close)):
                record[name] = column * 10_000_000
            dbn.write(record.tobytes())
            price, done = int(close[-1]), done + n


def metadata(start_ns):
    body = struct.pack("<16sHQQQBBBH53x", b"GLBX.MDP3", 6, start_ns, 2**64 - 1, 0, 1, 0, 0, 71)
    body += struct.pack("<II71sIII", 0, 1, b"ESH4", 0, 0, 0)
    body += bytes(-len(body) % 8)
    return b"DBN\x03" + struct.pack("<I", len(body)) + body


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
