# SPDX-License-Identifier: Apache-2.0
"""Makes golden cases with random settings from the float64 reference program (bench/peers/bar_reference.py).

    make_case.py FOLDER COUNT [FIRST_SEED]

A case whose least margin between best and second-best Q is below 2e-4, or in which the same program in float32
decides otherwise, is made again with the next seed: float32 may rightly differ there. `vixen verify --golden FOLDER` replays them.
Needs numpy only.
"""
import json
import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
import bar_reference as R  # noqa: E402

LEAST_MARGIN = 2e-4
FILE_NAMES = {"shared": "shared_layers", "value": "value_layers", "advantage": "advantage_layers"}


def write_safetensors(path, tensors, metadata):
    header, offset, blobs = {"__metadata__": metadata}, 0, []
    kinds = {"float32": "F32", "int32": "I32", "uint32": "U32", "uint8": "U8"}
    for name, values in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize):
        blob = np.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": kinds[str(values.dtype)], "shape": list(values.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def market(g, bars, features, segments):
    """Prices on a cent grid with jumps, so that barriers are hit, also exactly."""
    steps = g.standard_normal(bars) * g.choice([3e-4, 1e-3, 4e-3])
    close = np.round(100 * np.exp(np.cumsum(steps)), 2)
    close = np.maximum(close, 1.0)
    following = np.append(close[1:], close[-1])
    wick = lambda: np.round(np.abs(g.standard_normal(bars)) * close * 3e-4, 2)
    high, low = np.maximum(close, following) + wick(), np.minimum(close, following) - wick()
    last = np.zeros(bars, bool)
    last[np.sort(g.choice(np.arange(2, bars - 3, 3), segments - 1, replace=False))] = True
    last[-1] = True
    x = g.standard_normal((bars, features)).astype(np.float32)
    return x, np.stack([close, following, high, np.maximum(low, 0.5)], axis=1).astype(np.float32), last


def random_config(g, bars):
    carry = bool(g.random() < 0.25)
    actions = () if g.random() < 0.6 else tuple(sorted(g.choice(45, g.integers(1, 12), replace=False).tolist()))
    begin, end = (0, 0) if g.random() < 0.6 else (int(g.integers(0, bars // 3)), int(g.integers(bars // 2, bars)))
    # Off the cent grid: an exact tie hits in float32 (docs/environment.md, step 7) and misses by one part in
    # 1e8 in float64 from float32 targets; hand-computed tests hold the ties.
    bps = lambda: float(g.integers(4, 60)) + 0.37
    return R.Config(
        length=int(g.integers(20, 160)), initial_capital=float(g.choice([1e5, 1e4, 1e6])),
        reserve=float(g.choice([0.1, 0.0, 0.3])), spread=float(g.choice([0.0002, 0.0, 0.001])),
        cost_bps=tuple(np.round(g.uniform(-0.5, 3.0, 9), 2).tolist()), fill=tuple(np.round(g.uniform(0.2, 1.0, 9), 2).tolist()),
        rebalance_band=float(g.choice([0.05, 0.0, 0.2])), profit_bps=bps(), stop_bps=bps(), max_holding=int(g.integers(1, 40)),
        min_equity=float(g.choice([0.2, 0.98, 0.9995])), terminate_on_barrier=bool(g.random() < 0.5),
        recycle=carry or bool(g.random() < 0.7), epsilon=float(g.choice([0.0, 0.3, 0.6, 1.0])), gamma=float(g.choice([0.99, 0.9, 0.0])),
        curiosity_max=float(g.choice([0.1, 100.0])), pnl_scale=float(g.choice([1.0, 100.0])), risk_threshold=float(g.choice([0.8, 0.3])),
        risk_scale=0.5, diversity_min_entropy=float(g.choice([1.0, 1.5])), diversity_penalty=0.1, barrier_bonus=0.5,
        barrier_aligned=bool(g.random() < 0.5), borrow_bps=float(g.choice([0.0, 0.5])),
        max_episode_steps=int(g.choice([0, 17, 110])), double_dqn=bool(g.random() < 0.5), carry_over=carry,
        actions=actions, begin=begin, end=end)


def effective_range(last, cfg, bars):
    begin, end = cfg.begin, cfg.end or bars
    first = np.append(True, last[:-1])
    while last[begin]:
        begin += 1
    while first[end - 1]:
        end -= 1
    return begin, end


def make(seed):
    g = np.random.default_rng(seed)
    bars, features = 700, int(g.choice([51, 7, 20, 133, 1]))
    data = market(g, bars, features, int(g.integers(1, 6)))
    cfg = random_config(g, bars)
    begin, end = effective_range(data[2], cfg, bars)
    h1, h2, hv, ha, hc = (int(16 * g.integers(1, most)) for most in (9, 9, 5, 5, 5))
    sizes = dict(state_dim=features + 3, h1=h1, h2=h2, value=hv, advantage=ha)
    online, target = R.init_weights(g, **sizes), R.init_weights(g, **sizes)
    curiosity = R.init_curiosity(g, features + 3, hc)
    episodes = int(g.integers(1, 9))
    startable = np.array([b for b in range(begin, end - 1) if not data[2][b]])
    starts = g.choice(startable, episodes).astype(np.int32)
    rng = g.integers(0, 2**32, episodes, dtype=np.uint32)

    def run(dtype):
        cast = lambda weights: {name: values.astype(dtype) for name, values in weights.items()}
        state, draws, outs = None, rng, []
        for _ in range(2 if cfg.carry_over else 1):
            out, state = R.collect(np, reference, (data[0].astype(dtype), data[1].astype(dtype), data[2]), cast(online), cast(target),
                                   cast(curiosity), starts, draws, dtype, state)
            draws = state.pop("rng")
            outs.append(out)
        return {name: np.concatenate([o[name] for o in outs], axis=1) for name in outs[0]}

    reference = R.Config(**{**cfg.__dict__, "begin": begin, "end": end})
    out, rounded = run(np.float64), run(np.float32)
    # A threshold (ruin, band, entropy) can lie within float32's rounding of a value.
    if any((out[name] != rounded[name]).any() for name in ("bar", "action", "code", "term", "trunc", "valid")):
        return None

    valid = out["valid"]
    ordered = np.sort(out["greedy"], axis=-1)
    margin = np.inf
    if len(cfg.actions) != 1:
        decided = valid & ~out["explored"]
        if decided.any():
            margin = float((ordered[..., -1] - ordered[..., -2])[decided].min())
        if cfg.double_dqn:
            choice = np.sort(out["choice"], axis=-1)
            margin = min(margin, float((choice[..., -1] - choice[..., -2])[valid].min()))
    if margin < LEAST_MARGIN:
        return None
    flags = valid * (1 + 2 * out["term"] + 4 * out["trunc"] + 8 * out["code"] + 32 * out["explored"])
    keep = lambda values: np.where(valid.reshape(valid.shape + (1,) * (values.ndim - 2)), values, 0)
    tensors = {"features": data[0], "targets": data[1], "last": data[2].astype(np.uint8), "starts": starts, "rng": rng,
               "out.bar": keep(out["bar"]).astype(np.int32), "out.action": keep(out["action"]).astype(np.int32),
               "out.reward": keep(out["reward"]).astype(np.float32), "out.td": keep(out["td"]).astype(np.float32),
               "out.portfolio": keep(out["state"][..., -3:]).astype(np.float32),
               "out.next_portfolio": keep(out["next_state"][..., -3:]).astype(np.float32), "out.flags": flags.astype(np.uint8),
               "out.q": keep(out["q"]).astype(np.float32), "out.terms": keep(out["terms"]).astype(np.float32)}
    for prefix, weights in (("online", online), ("target", target)):
        for name, values in weights.items():
            layer, rest = name.split(".", 1)
            tensors[f"{prefix}.{FILE_NAMES[layer]}.{rest}"] = values
    tensors.update({f"curiosity.{name}": values for name, values in curiosity.items()})
    renamed = {"length": "steps", "profit_bps": "profit_target_bps", "stop_bps": "stop_loss_bps", "max_holding": "max_holding_bars"}
    metadata = {renamed.get(name, name): json.dumps(value) for name, value in cfg.__dict__.items()
                if name not in ("terminate_on_barrier", "barrier_aligned")}
    metadata["on_barrier"] = json.dumps("terminate" if cfg.terminate_on_barrier else "relabel")
    metadata["barrier_shaping"] = json.dumps("aligned" if cfg.barrier_aligned else "product")
    metadata.update(case=f"random-{seed}", margin=str(min(margin, 1.0)))
    return tensors, metadata


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    folder.mkdir(parents=True, exist_ok=True)
    made = 0
    while made < count:
        case = make(seed)
        if case is not None:
            write_safetensors(folder / f"random-{seed}.safetensors", *case)
            made += 1
        seed += 1


if __name__ == "__main__":
    main()
