# SPDX-License-Identifier: Apache-2.0
"""Peer: the same collection as one jitted jax.lax.scan. Prints transitions/s per N."""
import functools, json, sys, time
import numpy as np
import jax, jax.numpy as jnp
import bar_reference as R

def main(ns=(128, 1024, 8192, 32768), length=500, total=1_000_000):
    g = np.random.default_rng(0)
    data = tuple(jnp.asarray(x) for x in R.synthetic_market(g, total))
    to = lambda d: {k: jnp.asarray(v) for k, v in d.items()}
    online, target, curio = to(R.init_weights(g)), to(R.init_weights(g)), to(R.init_curiosity(g))
    cfg = R.Config(length=length)

    @functools.partial(jax.jit, static_argnums=())
    def launch(data, online, target, curio, starts, rng):
        e = R.fresh(jnp, cfg, starts, jnp.float32)
        e["t_launch"] = jnp.zeros(starts.shape[0], jnp.int32)
        def body(carry, _):
            e, rng, active = carry
            e, rng, active, o = R.step(jnp, cfg, data, online, target, curio, e, rng, active, jnp.float32)
            keep = {k: o[k] for k in ("state", "action", "reward", "td", "term", "trunc", "code", "bar")}
            keep["npf"] = o["next_state"][:, -3:]
            return (e, rng, active), keep
        (_, rng, _), rows = jax.lax.scan(body, (e, rng, jnp.ones(starts.shape[0], bool)), None, length=length)
        return rows, rng
    for n in ns:
        starts = jnp.asarray(g.integers(0, total - 1000, n).astype(np.int32))
        rng = jnp.asarray(g.integers(1, 2**32, n, dtype=np.uint32))
        t0 = time.time(); rows, _ = launch(data, online, target, curio, starts, rng); jax.block_until_ready(rows); comp = time.time() - t0
        ts = []
        for _ in range(5):
            t0 = time.time(); rows, rng = launch(data, online, target, curio, starts, rng); jax.block_until_ready((rows, rng)); ts.append(time.time() - t0)
        t = sorted(ts)[2]
        print(json.dumps(dict(peer="jax_scan", n=n, length=length, ms=round(t * 1e3, 3), mtps=round(n * length / t / 1e6, 3), compile_s=round(comp, 1))), flush=True)
        del rows
if __name__ == "__main__":
    length, *ns = map(int, sys.argv[1:] or (500, 128, 1024, 8192, 32768))      # jax_scan.py LENGTH N...
    main(tuple(ns), length)
