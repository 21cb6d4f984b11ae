# SPDX-License-Identifier: Apache-2.0
"""pandas_peer.py CSV: read_csv, then the 51 features as one writes them with numpy and pandas: whole columns, rolling windows by cumulative sums or
pandas' own C code, recursive averages by ewm. Float64 throughout, one float32 matrix at the end, standardised on the first 80 %. Not bit-equal to ours
(running sums, seeds of ewm): it stands for the work, not for the values."""
import json
import resource
import sys
import time

import numpy as np
import pandas as pd


def rolling_sum(x, n):
    total = np.concatenate([[0.0], np.cumsum(x)])
    out = np.full(len(x), np.nan)
    out[n - 1:] = total[n:] - total[:-n]
    return out


def rolling_mean(x, n):
    return rolling_sum(x, n) / n


def shift(x, n):
    out = np.full(len(x), np.nan)
    out[n:] = x[:-n]
    return out


def ewm(x, alpha):
    return pd.Series(x).ewm(alpha=alpha, adjust=False).mean().to_numpy()


def features(frame):
    o, h, l, c = (frame[name].to_numpy() for name in ("open", "high", "low", "close"))
    v = frame["volume"].to_numpy().astype(float)
    S, clean = pd.Series, lambda x: np.nan_to_num(x)
    columns = []
    add = columns.append
    with np.errstate(all="ignore"):
        log_c, log_o, u = np.log(c), np.log(o), np.log(h / l)
        for n in (1, 5, 15, 30, 60):
            add(log_c - shift(log_c, n))
        c1 = shift(c, 1)
        r = np.log(c / c1)
        add(np.log(o / c1)); add(log_c - log_o); add(u)
        height = h - l
        clv = np.where(height > 0, (2 * c - h - l) / height, 0)
        add(clv); add((h - np.maximum(o, c)) / height); add((np.minimum(o, c) - l) / height); add((c - o) / height)
        ema12, ema26 = ewm(c, 2 / 13), ewm(c, 2 / 27)
        mean50, mean10, mean20 = rolling_mean(c, 50), rolling_mean(c, 10), rolling_mean(c, 20)
        add(c / ema12 - 1); add(c / ema26 - 1); add(c / mean50 - 1); add(mean10 / mean50 - 1)
        macd = ema12 - ema26
        add(macd / c); add((macd - ewm(macd, 0.2)) / c)
        add(c / S(h).rolling(60).max().to_numpy() - 1)
        tr = np.maximum(h, c1) - np.minimum(l, c1)
        up, down = h - shift(h, 1), shift(l, 1) - l
        plus, minus = np.where((up > 0) & (up > down), up, 0), np.where((down > 0) & (down > up), down, 0)
        atr = ewm(clean(tr), 1 / 14)
        p, m = ewm(plus, 1 / 14) / atr, ewm(minus, 1 / 14) / atr
        add(ewm(clean(np.abs(p - m) / (p + m)), 1 / 14)); add(p - m)
        window = np.lib.stride_tricks.sliding_window_view
        aroon = np.full(len(c), np.nan)
        aroon[14:] = (window(h, 15).argmax(1) - window(l, 15).argmin(1)) / 14.0
        add(aroon)
        slope = np.full(len(c), np.nan)
        slope[13:] = np.convolve(c, (np.arange(14) - 6.5)[::-1], "valid") / 227.5
        add(slope / c)
        triple = ewm(ewm(ewm(c, 2 / 16), 2 / 16), 2 / 16)
        add(100 * (triple / shift(triple, 1) - 1))
        d = clean(c - c1)
        gain, loss = np.maximum(d, 0), np.maximum(-d, 0)
        rsi = lambda n: ewm(gain, 1 / n) / (ewm(gain, 1 / n) + ewm(loss, 1 / n))
        rsi14 = rsi(14)
        add(2 * rsi14 - 1); add(2 * rsi(5) - 1)
        low14, high14 = S(l).rolling(14).min().to_numpy(), S(h).rolling(14).max().to_numpy()
        fast = clean((c - low14) / (high14 - low14))
        k = rolling_mean(fast, 3)
        add(2 * k - 1); add(2 * rolling_mean(clean(k), 3) - 1)
        low_r, high_r = S(rsi14).rolling(14).min().to_numpy(), S(rsi14).rolling(14).max().to_numpy()
        add(2 * (rsi14 - low_r) / (high_r - low_r) - 1)
        tp = (h + l + c) / 3
        tp20 = rolling_mean(tp, 20)
        deviation = np.zeros(len(c))
        for j in range(20):
            deviation += np.abs(clean(shift(tp, j) if j else tp) - tp20)
        add((tp - tp20) / (3 * deviation / 20))
        move = tp - shift(tp, 1)
        a, b = rolling_sum(np.where(move > 0, tp * v, 0), 14), rolling_sum(np.where(move < 0, tp * v, 0), 14)
        add((a - b) / (a + b))
        bp = clean(c - np.minimum(l, c1))
        q = [rolling_sum(bp, n) / rolling_sum(clean(tr), n) for n in (7, 14, 28)]
        add(2 * (4 * q[0] + 2 * q[1] + q[2]) / 7 - 1)
        add(atr / c)
        rc = clean(r)
        rv = [S(rc).rolling(n).std(ddof=0).to_numpy() for n in (10, 30, 60)]
        columns.extend(rv); add(np.log(rv[0] / rv[2]))
        add(np.sqrt(rolling_mean(u * u, 20) / (4 * np.log(2))))
        add(np.sqrt(np.maximum(0, rolling_mean(0.5 * u * u - (2 * np.log(2) - 1) * (log_c - log_o) ** 2, 20))))
        std20 = S(c).rolling(20).std(ddof=0).to_numpy()
        add((c - mean20) / (4 * std20) + 0.5); add(4 * std20 / mean20)
        v20 = rolling_mean(v, 20)
        add(np.log((v + 1) / (v20 + 1))); add((v - v20) / S(v).rolling(20).std(ddof=0).to_numpy())
        total = v20 * 20
        add(rolling_sum(np.sign(d) * v, 20) / total); add(rolling_sum(clv * v, 20) / total)
        add(c / (rolling_sum(tp * v, 20) / total) - 1)
        add(np.log(1e-15 + rolling_mean(np.abs(rc) / (c * np.maximum(v, 1)), 20)))
        h20, l20 = S(h).rolling(20).max().to_numpy(), S(l).rolling(20).min().to_numpy()
        add((2 * c - h20 - l20) / (h20 - l20))
        add((c - shift(c, 10)) / rolling_sum(np.abs(d), 10))
        angle = 2 * np.pi * (frame["time"].to_numpy() // 60 % 1440) / 1440
        add(np.sin(angle)); add(np.cos(angle))
    return columns


def main(path):
    start = time.perf_counter()
    frame = pd.read_csv(path)
    reading = time.perf_counter() - start
    columns = features(frame)
    assert len(columns) == 51
    matrix = np.empty((len(frame) - 250, 51), dtype=np.float32)
    for i in range(51):
        column = np.nan_to_num(columns[i][250:])
        columns[i] = None
        train = column[: int(0.8 * len(column))]
        scale = train.std() or 1.0
        matrix[:, i] = np.clip((column - train.mean()) / scale, -10, 10)
    seconds = time.perf_counter() - start
    print(json.dumps({"what": "pandas + numpy", "bars": len(frame), "seconds": round(seconds, 3), "cpu_seconds": round(time.process_time(), 3), "reading": round(reading, 3),
                      "bars_per_second": round(len(frame) / seconds), "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


if __name__ == "__main__":
    main(sys.argv[1])
