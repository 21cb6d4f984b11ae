# SPDX-License-Identifier: Apache-2.0
"""Peer: the same collection as a PyTorch per-step loop, eager and as a replayed CUDA graph."""
import json, sys, time
import numpy as np, torch
import bar_reference as R
torch.backends.cuda.matmul.allow_tf32 = True
dev = "cuda"

class Loop:
    def __init__(s, cfg, data, online, target, curio, n, g):
        s.cfg, s.n = cfg, n
        s.f, s.tg, s.last = data
        s.w, s.tw, s.c = online, target, curio
        total = s.f.shape[0]
        s.bar = torch.as_tensor(g.integers(0, total - 1000, n), device=dev, dtype=torch.int64)
        z = lambda dt=torch.float32: torch.zeros(n, device=dev, dtype=dt)
        s.t, s.cash, s.pos, s.entry, s.costs = z(torch.int32), z() + cfg.initial_capital, z(), z(), z()
        s.upper, s.lower, s.expiry, s.armed = z(), z(), z(torch.int32), z(torch.bool)
        s.win, s.hist, s.count = torch.zeros(n, R.WINDOW, device=dev, dtype=torch.int64), torch.zeros(n, 3, device=dev), z(torch.int64)
        s.cost = torch.tensor(cfg.cost_bps, device=dev) / 1e4 + cfg.spread / 2
        s.fill = torch.tensor(cfg.fill, device=dev)
        s.ar3 = torch.arange(3, device=dev)
        L = cfg.length
        s.out = dict(state=torch.zeros(L, n, s.f.shape[1] + 3, device=dev), npf=torch.zeros(L, n, 3, device=dev), action=torch.zeros(L, n, device=dev, dtype=torch.int64),
                     reward=torch.zeros(L, n, device=dev), td=torch.zeros(L, n, device=dev), done=torch.zeros(L, n, device=dev, dtype=torch.bool))
        s.step_no = torch.zeros((), device=dev, dtype=torch.int64)
    def q(s, w, x):
        F = torch.nn.functional
        h = F.leaky_relu(F.linear(x, w["shared.0.weight"], w["shared.0.bias"]), 0.01)
        h = F.leaky_relu(F.linear(h, w["shared.1.weight"], w["shared.1.bias"]), 0.01)
        v = F.linear(F.leaky_relu(F.linear(h, w["value.0.weight"], w["value.0.bias"]), 0.01), w["value.1.weight"], w["value.1.bias"])
        a = F.linear(F.leaky_relu(F.linear(h, w["advantage.0.weight"], w["advantage.0.bias"]), 0.01), w["advantage.1.weight"], w["advantage.1.bias"])
        return v + a - a.mean(-1, keepdim=True)
    def pf(s, price):
        eq = s.cash + s.pos * price
        un = torch.where(s.pos == 0, 0.0, torch.sign(s.pos) * (price - s.entry) / torch.where(s.entry == 0, 1.0, s.entry))
        return torch.stack([eq / s.cfg.initial_capital, s.pos * price / eq, un], -1), eq
    def trade(s, d, price, rate):
        new = s.pos + d; cost = d.abs() * price * rate
        grow = ((s.pos == 0) | (torch.sign(d) == torch.sign(s.pos))) & (d != 0)
        avg = (s.entry * s.pos + price * d) / torch.where(new == 0, 1.0, new)
        s.entry = torch.where(new == 0, 0.0, torch.where(grow, avg, s.entry)); s.pos = new
        s.cash = s.cash - d * price - cost; s.costs = s.costs + cost
    @torch.no_grad()
    def step(s):
        cfg = s.cfg; total = s.f.shape[0]
        row, tg = s.f[s.bar], s.tg[s.bar]
        price, nclose, nhigh, nlow = tg.unbind(1)
        pf, eq0 = s.pf(price); st = torch.cat([row, pf], -1)
        q = s.q(s.w, st)
        u1, u2 = torch.rand(s.n, device=dev), torch.rand(s.n, device=dev)
        a = torch.where(u1 < cfg.epsilon, (u2 * R.ACTIONS).long().clamp_max(R.ACTIONS - 1), q.argmax(-1))
        expo, style = a // 9, a % 9
        level = (expo - 2) * 0.5; rate = s.cost[style]; fill = s.fill[style]
        want = level * (eq0 * (1 - cfg.reserve)).clamp_min(0) / price
        was = s.pos; rev = was * want < 0
        s.trade(torch.where(rev, -was, 0.0), price, rate)
        eq1 = s.cash + s.pos * price
        want = torch.where(rev, level * (eq1 * (1 - cfg.reserve)).clamp_min(0) / price, want)
        gap = want - s.pos
        hold = (expo != 2) & ~rev & (s.pos != 0) & (gap.abs() * price <= cfg.rebalance_band * eq1)
        s.trade(torch.where(hold, 0.0, gap * fill), price, rate)
        opened = (s.pos != 0) & ((was == 0) | rev); lng = s.pos > 0
        pt, sl = cfg.profit_bps / 1e4, cfg.stop_bps / 1e4
        s.upper = torch.where(opened, price * torch.where(lng, 1 + pt, 1 + sl), s.upper)
        s.lower = torch.where(opened, price * torch.where(lng, 1 - sl, 1 - pt), s.lower)
        s.expiry = torch.where(opened, s.t + cfg.max_holding, s.expiry)
        armed = (s.armed | opened) & (s.pos != 0)
        up, dn = nhigh >= s.upper, nlow <= s.lower
        profit, stop = torch.where(lng, up, dn), torch.where(lng, dn, up)
        code = torch.where(~armed, 0, torch.where(stop, 2, torch.where(profit, 1, torch.where(s.t + 1 >= s.expiry, 3, 0))))
        bs = torch.where(code == 1, 0.5, torch.where(code == 2, -0.5, 0.0))
        cat = torch.where(expo <= 1, 0, torch.where(expo == 2, 1, 2))
        slot = (s.count % R.WINDOW)[:, None]
        old = s.win.gather(1, slot)[:, 0]; full = s.count >= R.WINDOW
        s.hist = s.hist + (cat[:, None] == s.ar3).float() - ((old[:, None] == s.ar3) & full[:, None]).float()
        s.win.scatter_(1, slot, cat[:, None]); s.count = s.count + 1
        p = s.hist / R.WINDOW
        ent = -(p * torch.log2(torch.where(p > 0, p, 1.0))).sum(-1)
        div = torch.where((s.count >= R.WINDOW) & (ent < 1.0), -0.1, 0.0)
        nb = (s.bar + 1).clamp_max(total - 1)
        npf, eq2 = s.pf(nclose); ns = torch.cat([s.f[nb], npf], -1)
        x = torch.cat([st[:, :32], (cat[:, None] == s.ar3).float()], -1)
        F = torch.nn.functional
        pr = F.linear(F.leaky_relu(F.linear(x, s.c["0.weight"], s.c["0.bias"]), 0.01), s.c["1.weight"], s.c["1.bias"])
        cur = ((pr - ns[:, :32]) ** 2).mean(-1).clamp_max(cfg.curiosity_max)
        mq = s.q(s.tw, ns).amax(-1)
        rew = (eq2 - eq0) / eq0 * (1 + bs)
        ap = npf[:, 1].abs()
        rew = rew - torch.where(ap > 0.8, (ap - 0.8) * 0.5, 0.0) + div + cur
        term = (eq2 <= cfg.min_equity * cfg.initial_capital) | (code != 0)
        trunc = ~term & s.last[nb]
        td = (rew + cfg.gamma * mq * (~term).float() - q.gather(1, a[:, None])[:, 0]).abs()
        i = s.step_no[None]
        for k, v in dict(state=st, npf=npf, action=a, reward=rew, td=td, done=term | trunc).items():
            s.out[k].index_copy_(0, i, v[None])
        s.step_no.add_(1).remainder_(cfg.length)
        done = term | trunc
        s.bar = torch.where(done, (torch.rand(s.n, device=dev) * (total - 1)).long(), s.bar + 1)
        s.t = torch.where(done, 0, s.t + 1); s.cash = torch.where(done, cfg.initial_capital, s.cash)
        s.pos = torch.where(done, 0.0, s.pos); s.entry = torch.where(done, 0.0, s.entry); s.costs = torch.where(done, 0.0, s.costs)
        s.armed = armed & (code == 0) & ~done; s.hist = torch.where(done[:, None], 0.0, s.hist); s.count = torch.where(done, 0, s.count)

STATE = ("bar", "t", "cash", "pos", "entry", "costs", "upper", "lower", "expiry", "armed", "hist", "count")

def main(ns=(128, 1024, 8192, 32768), length=500, total=1_000_000):
    g = np.random.default_rng(0)
    data = tuple(torch.as_tensor(x, device=dev) for x in R.synthetic_market(g, total))
    to = lambda d: {k: torch.as_tensor(v, device=dev) for k, v in d.items()}
    online, target, curio = to(R.init_weights(g)), to(R.init_weights(g)), to(R.init_curiosity(g))
    cfg = R.Config(length=length)
    for n in ns:
        L = Loop(cfg, data, online, target, curio, n, g)
        L.step(); torch.cuda.synchronize()
        t0 = time.time()
        for _ in range(length): L.step()
        torch.cuda.synchronize(); te = time.time() - t0
        static = {k: getattr(L, k).clone() for k in STATE}
        for k, v in static.items(): setattr(L, k, v)
        gph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(gph):
            L.step()
            for k in STATE: static[k].copy_(getattr(L, k))
        ts = []
        for _ in range(3):
            torch.cuda.synchronize(); t0 = time.time()
            for _ in range(length): gph.replay()
            torch.cuda.synchronize(); ts.append(time.time() - t0)
        t = sorted(ts)[1]
        print(json.dumps(dict(peer="torch_eager", n=n, length=length, ms=round(te * 1e3, 2), mtps=round(n * length / te / 1e6, 3))))
        print(json.dumps(dict(peer="torch_graph", n=n, length=length, ms=round(t * 1e3, 2), mtps=round(n * length / t / 1e6, 3), reward=float(L.out["reward"].mean()))), flush=True)
if __name__ == "__main__":
    length, *ns = map(int, sys.argv[1:] or (500, 128, 1024, 8192, 32768))      # torch_loop.py LENGTH N...
    main(tuple(ns), length)
