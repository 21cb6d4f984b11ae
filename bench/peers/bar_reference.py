# SPDX-License-Identifier: Apache-2.0
"""Reference bar environment + dueling DQN collection, batched over episodes.

One source for three back ends: `xp` is numpy (oracle, float64 or float32) or jax.numpy.
Semantics: docs/environment.md.  Everything is [N] or [N, ...]; one call of
`step` advances every episode by one bar.
"""
import math
from dataclasses import dataclass, field

import numpy as np

ACTIONS, STYLES, WINDOW = 45, 9, 100


@dataclass(frozen=True)
class Config:
    length: int = 500
    initial_capital: float = 100_000.0
    reserve: float = 0.10
    spread: float = 0.0002                      # relative, full spread
    cost_bps: tuple = (1.0, 1.5, 2.0, 0.2, 0.3, 0.4, 0.8, 1.0, 1.2)
    fill: tuple = (1.0, 1.0, 1.0, 0.5, 0.75, 1.0, 0.9, 0.95, 1.0)
    rebalance_band: float = 0.05
    profit_bps: float = 50.0
    stop_bps: float = 25.0
    max_holding: int = 60
    min_equity: float = 0.2
    terminate_on_barrier: bool = True
    recycle: bool = True
    epsilon: float = 0.1
    gamma: float = 0.99
    curiosity_max: float = 0.1
    pnl_scale: float = 1.0
    risk_threshold: float = 0.8
    risk_scale: float = 0.5
    diversity_min_entropy: float = 1.0
    diversity_penalty: float = 0.1
    barrier_bonus: float = 0.5
    barrier_aligned: bool = False               # reward term: False = the seed's product, True = label x |return|
    borrow_bps: float = 0.0                     # a bar, on short notional
    max_episode_steps: int = 0
    double_dqn: bool = False
    carry_over: bool = False
    actions: tuple = ()                         # allowed actions, ascending; empty = all 45
    begin: int = 0                              # bars [begin, end); end 0 = the whole dataset
    end: int = 0


def lrelu(xp, x):
    return xp.where(x > 0, x, 0.01 * x)


def init_weights(rng, state_dim=54, h1=256, h2=256, value=128, advantage=128, dtype=np.float32):
    def lin(o, i):
        k = 1.0 / math.sqrt(i)
        return rng.uniform(-k, k, (o, i)).astype(dtype), rng.uniform(-k, k, o).astype(dtype)
    w = {}
    for name, (o, i) in {
        "shared.0": (h1, state_dim), "shared.1": (h2, h1),
        "value.0": (value, h2), "value.1": (1, value),
        "advantage.0": (advantage, h2), "advantage.1": (ACTIONS, advantage)}.items():
        w[name + ".weight"], w[name + ".bias"] = lin(o, i)
    return w


def init_curiosity(rng, state_dim=54, hidden=64, dtype=np.float32):
    emb = min(32, state_dim)
    k0, k1 = 1 / math.sqrt(emb + 3), 1 / math.sqrt(hidden)
    return {"0.weight": rng.uniform(-k0, k0, (hidden, emb + 3)).astype(dtype), "0.bias": rng.uniform(-k0, k0, hidden).astype(dtype),
            "1.weight": rng.uniform(-k1, k1, (emb, hidden)).astype(dtype), "1.bias": rng.uniform(-k1, k1, emb).astype(dtype)}


def q_values(xp, w, s):
    h = lrelu(xp, s @ w["shared.0.weight"].T + w["shared.0.bias"])
    h = lrelu(xp, h @ w["shared.1.weight"].T + w["shared.1.bias"])
    v = lrelu(xp, h @ w["value.0.weight"].T + w["value.0.bias"]) @ w["value.1.weight"].T + w["value.1.bias"]
    a = lrelu(xp, h @ w["advantage.0.weight"].T + w["advantage.0.bias"]) @ w["advantage.1.weight"].T + w["advantage.1.bias"]
    return v + a - a.mean(axis=-1, keepdims=True)


def curiosity_mse(xp, c, s, cat, nxt):
    onehot = (cat[:, None] == xp.arange(3)[None, :]).astype(s.dtype)
    emb = c["1.bias"].shape[0]
    x = xp.concatenate([s[:, :emb], onehot], axis=-1)
    p = lrelu(xp, x @ c["0.weight"].T + c["0.bias"]) @ c["1.weight"].T + c["1.bias"]
    return ((p - nxt[:, :emb]) ** 2).mean(axis=-1)


def lcg(xp, st):
    st = (st * xp.uint32(1664525) + xp.uint32(1013904223)).astype(xp.uint32)
    u = (st & xp.uint32(0x7FFFFF)).astype(xp.float32) / xp.float32(0x7FFFFF)
    return st, u


def fresh(xp, cfg, start, dtype):
    n = start.shape[0]
    z = xp.zeros(n, dtype)
    zi = xp.zeros(n, xp.int32)
    return dict(bar=start.astype(xp.int32), t=zi, cash=z + cfg.initial_capital, pos=z, entry=z, costs=z,
                bar_entry=z, upper=z, lower=z, expiry=zi, armed=xp.zeros(n, bool),
                win=xp.zeros((n, WINDOW), xp.int8), hist=xp.zeros((n, 3), xp.int32), count=zi)


def portfolio_features(xp, cfg, e, price):
    eq = e["cash"] + e["pos"] * price
    unreal = xp.where(e["pos"] == 0, 0.0, xp.sign(e["pos"]) * (price - e["entry"]) / xp.where(e["entry"] == 0, 1.0, e["entry"]))
    exposure = xp.clip(e["pos"] * price / xp.maximum(eq, 0.01 * cfg.initial_capital), -10.0, 10.0)
    return xp.stack([eq / cfg.initial_capital, exposure, unreal], axis=-1), eq


def trade(xp, e, delta, price, rate):
    """Apply a signed fill of `delta` units at `price`, cost `rate` x notional."""
    pos, new = e["pos"], e["pos"] + delta
    cost = xp.abs(delta) * price * rate
    grow = (pos == 0) | ((xp.sign(delta) == xp.sign(pos)) & (delta != 0))
    safe = xp.where(new == 0, 1.0, new)
    avg = (e["entry"] * pos + price * delta) / safe
    entry = xp.where(new == 0, 0.0, xp.where(grow & (delta != 0), avg, e["entry"]))
    return dict(e, pos=new, entry=entry, cash=e["cash"] - delta * price - cost, costs=e["costs"] + cost)


def step(xp, cfg, data, online, target, curio, e, rng, active, dtype):
    feats, targ, last = data
    total = feats.shape[0]
    end = cfg.end or total
    allowed = xp.asarray(cfg.actions or range(ACTIONS), xp.int32)
    mask = xp.asarray([0.0 if not cfg.actions or i in cfg.actions else -1e30 for i in range(ACTIONS)], dtype)
    b = e["bar"]
    row, tg = feats[b], targ[b]
    price, nclose, nhigh, nlow = tg[:, 0], tg[:, 1], tg[:, 2], tg[:, 3]
    pf, eq0 = portfolio_features(xp, cfg, e, price)
    s = xp.concatenate([row, pf], axis=-1).astype(dtype)
    q = q_values(xp, online, s)
    rng, u1 = lcg(xp, rng)
    rng, u2 = lcg(xp, rng)
    rand_a = allowed[xp.minimum((u2 * xp.float32(allowed.shape[0])).astype(xp.int32), allowed.shape[0] - 1)]
    explore = (u1 < cfg.epsilon) | (cfg.epsilon >= 1.0)
    a = xp.where(explore, rand_a, xp.argmax(q + mask, axis=-1).astype(xp.int32))

    expo, style = a // STYLES, a % STYLES
    level = (expo.astype(dtype) - 2.0) * 0.5
    rate = xp.asarray(cfg.cost_bps, dtype)[style] / 1e4 + cfg.spread / 2
    fill = xp.asarray(cfg.fill, dtype)[style]
    want = level * xp.maximum(eq0 * (1 - cfg.reserve), 0.0) / price
    was = e["pos"]
    reverse = was * want < 0
    e1 = trade(xp, e, xp.where(reverse, -was, 0.0), price, rate)
    eq1 = e1["cash"] + e1["pos"] * price
    want = xp.where(reverse, level * xp.maximum(eq1 * (1 - cfg.reserve), 0.0) / price, want)
    gap = want - e1["pos"]
    hold = (expo != 2) & (~reverse) & (e1["pos"] != 0) & (xp.abs(gap) * price <= cfg.rebalance_band * eq1)
    e2 = trade(xp, e1, xp.where(hold, 0.0, gap * fill), price, rate)
    pos = e2["pos"]
    borrow = xp.where(pos < 0, -pos * price * (cfg.borrow_bps / 1e4), 0.0)
    e2 = dict(e2, cash=e2["cash"] - borrow, costs=e2["costs"] + borrow)
    opened = (pos != 0) & ((was == 0) | reverse | ~e["armed"])
    long = pos > 0
    pt, sl = cfg.profit_bps / 1e4, cfg.stop_bps / 1e4
    bar_entry = xp.where(opened, price, e["bar_entry"])
    upper = xp.where(opened, price + price * xp.where(long, pt, sl), e["upper"])
    lower = xp.where(opened, price - price * xp.where(long, sl, pt), e["lower"])
    expiry = xp.where(opened, e["t"] + cfg.max_holding, e["expiry"])
    armed = (e["armed"] | opened) & (pos != 0)
    up, dn = nhigh >= upper, nlow <= lower
    profit, stop = xp.where(long, up, dn), xp.where(long, dn, up)
    timeout = e["t"] + 1 >= expiry
    code = xp.where(~armed, 0, xp.where(stop, 2, xp.where(profit, 1, xp.where(timeout, 3, 0))))  # 0 none 1 profit 2 stop 3 time
    bscale = xp.where(code == 1, cfg.barrier_bonus, xp.where(code == 2, -cfg.barrier_bonus, 0.0))

    cat = xp.where(expo <= 1, 0, xp.where(expo == 2, 1, 2)).astype(xp.int32)
    slot = e["count"] % WINDOW
    n = b.shape[0]
    idx = xp.arange(n)
    old = e["win"][idx, slot].astype(xp.int32)
    full0 = e["count"] >= WINDOW
    hist = e["hist"] + (cat[:, None] == xp.arange(3)[None, :]).astype(xp.int32)
    hist = hist - ((old[:, None] == xp.arange(3)[None, :]) & full0[:, None]).astype(xp.int32)
    if xp is np:
        win = e["win"].copy(); win[idx, slot] = cat
    else:
        win = e["win"].at[idx, slot].set(cat.astype(xp.int8))
    count = e["count"] + 1
    p = hist.astype(dtype) / WINDOW
    ent = -(p * xp.log2(xp.where(p > 0, p, 1.0))).sum(axis=-1)
    div = xp.where((count >= WINDOW) & (ent < cfg.diversity_min_entropy), -cfg.diversity_penalty, 0.0)

    nb = xp.minimum(b + 1, total - 1)
    npf, eq2 = portfolio_features(xp, cfg, e2, nclose)
    ns = xp.concatenate([feats[nb], npf], axis=-1).astype(dtype)
    curiosity = xp.minimum(curiosity_mse(xp, curio, s, cat, ns), cfg.curiosity_max)
    qn = q_values(xp, target, ns)
    choice = (q_values(xp, online, ns) if cfg.double_dqn else qn) + mask
    maxq = qn[idx, xp.argmax(choice, axis=-1)]

    ret = (pos * (nclose - price) - (e2["costs"] - e["costs"])) / eq0
    pnl = cfg.pnl_scale * ret
    barrier = bscale * (xp.abs(pnl) if cfg.barrier_aligned else pnl)
    apos = xp.abs(npf[:, 1])
    risk = -xp.where(apos > cfg.risk_threshold, (apos - cfg.risk_threshold) * cfg.risk_scale, 0.0)
    reward = pnl + barrier + risk + div + curiosity
    term = eq2 <= cfg.min_equity * cfg.initial_capital
    if cfg.terminate_on_barrier:
        term = term | (code != 0)
    trunc = (~term) & (last[nb] | (nb == end - 1) | ((e["t_launch"] + 1 >= cfg.length) & (not cfg.carry_over))
                       | ((cfg.max_episode_steps > 0) & (e["t"] + 1 >= cfg.max_episode_steps)))
    td = xp.abs(reward + xp.where(term, 0.0, cfg.gamma * maxq) - q[idx, a])
    out = dict(bar=b, state=s, next_state=ns, action=a, reward=reward.astype(dtype), td=td.astype(dtype),
               term=term, trunc=trunc, code=code, valid=active, q=q, greedy=q + mask, explored=explore, choice=choice,
               terms=xp.stack([pnl, barrier, risk, div + 0 * pnl, curiosity], axis=-1))

    armed = armed & (code == 0)
    e3 = dict(e2, bar=b + 1, t=e["t"] + 1, bar_entry=bar_entry, upper=upper, lower=lower, expiry=expiry, armed=armed,
              win=win, hist=hist, count=count, t_launch=e["t_launch"] + 1)
    done = term | trunc
    if cfg.recycle:
        r2 = (rng * xp.uint32(1664525) + xp.uint32(1013904223)).astype(xp.uint32)
        rng2 = xp.where(done, r2, rng)
        if xp is np:
            start = cfg.begin + ((rng2.astype(np.uint64) * np.uint64(end - cfg.begin)) >> np.uint64(32)).astype(np.int32)
        else:  # 32x32 -> high 32 without 64-bit integers
            lo, hi = rng2 & xp.uint32(0xFFFF), rng2 >> 16
            m = xp.uint32(end - cfg.begin); ml, mh = m & xp.uint32(0xFFFF), m >> 16
            mid = (lo * ml >> 16) + (hi * ml & xp.uint32(0xFFFF)) + (lo * mh & xp.uint32(0xFFFF))
            start = ((hi * mh) + (hi * ml >> 16) + (lo * mh >> 16) + (mid >> 16)).astype(xp.int32) + cfg.begin
        start = xp.where(last[start] | (start == end - 1), start - 1, start)
        f = fresh(xp, cfg, start, dtype)
        f["t_launch"] = e3["t_launch"]
        e3 = {k: xp.where(done.reshape((-1,) + (1,) * (e3[k].ndim - 1)), f[k], e3[k]) for k in e3}
        rng = rng2
    else:
        e3 = dict(e3, bar=xp.minimum(b + 1, total - 1))
        active = active & ~done
    return e3, rng, active, out


def collect(xp, cfg, data, online, target, curio, starts, rng, dtype=np.float32, e=None):
    e = dict(fresh(xp, cfg, starts, dtype) if e is None else e)
    e["t_launch"] = xp.zeros(starts.shape[0], xp.int32)
    active = xp.ones(starts.shape[0], bool)
    rows = []
    for _ in range(cfg.length):
        e, rng, active, out = step(xp, cfg, data, online, target, curio, e, rng, active, dtype)
        rows.append(out)
    return {k: np.stack([np.asarray(r[k]) for r in rows], axis=1) for k in rows[0]}, dict(e, rng=rng)


def synthetic_market(rng, total, feats=51, segment=100_000):
    r = rng.standard_normal(total).astype(np.float64) * 5e-4
    close = 100 * np.exp(np.cumsum(r))
    f = rng.standard_normal((total, feats)).astype(np.float32)
    f[:, 0] = r * 2000
    nxt = np.append(close[1:], close[-1])
    hi = np.maximum(close, nxt) * (1 + np.abs(rng.standard_normal(total)) * 2e-4)
    lo = np.minimum(close, nxt) * (1 - np.abs(rng.standard_normal(total)) * 2e-4)
    last = np.zeros(total, bool)
    last[segment - 1::segment] = True
    last[-1] = True
    return f, np.stack([close, nxt, hi, lo], axis=1).astype(np.float32), last


if __name__ == "__main__":
    import time
    g = np.random.default_rng(0)
    cfg = Config(length=100)
    data = synthetic_market(g, 20_000)
    w, tw, c = init_weights(g), init_weights(g), init_curiosity(g)
    starts = g.integers(0, 19_000, 128).astype(np.int32)
    rng = g.integers(1, 2**32, 128, dtype=np.uint32)
    t0 = time.time()
    out, _ = collect(np, cfg, data, w, tw, c, starts, rng)
    n = out["valid"].sum()
    print("transitions", n, "in", round(time.time() - t0, 3), "s;", "term", out["term"].mean(), "codes", np.bincount(out["code"].ravel()), "reward", out["reward"].mean(), "td", out["td"].mean())
