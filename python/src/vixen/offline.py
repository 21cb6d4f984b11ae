# SPDX-License-Identifier: Apache-2.0
"""Batches as files that other libraries read: NPZ, and episodes in the layout of Minari (HDF5; needs h5py)."""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import BARRIERS, TERMS, Batch
from .errors import ConfigurationError
from .weights import ACTIONS


def write_npz(path: str | os.PathLike[str], batch: Batch, states: bool = False) -> None:
    """One batch: its columns [N, L, …], with `states` also state and next_state; `header` as JSON."""
    arrays = {name: np.asarray(column) for name, column in batch.items()}
    if states:
        arrays["state"], arrays["next_state"] = batch.states(), batch.next_states()
    arrays["header"] = np.array(json.dumps(header_of(batch)))
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def header_of(batch: Batch) -> dict[str, Any]:
    """What makes the launch computable again, as JSON would hold it."""
    h = batch.header
    return {"run_id": f"{h.run_id:016x}", "policy": h.policy, "launch": h.launch, "sequence": h.sequence,
            "online_version": h.online_version, "target_version": h.target_version,
            "curiosity_version": h.curiosity_version, "epsilon": h.epsilon, "run_seed": f"{h.run_seed:016x}",
            "settings_sha256": h.settings_sha256.hex(), "gamma": batch.settings.gamma}


class EpisodeWriter:
    """Minari's layout: FOLDER/data/main_data.hdf5 with episode_0, episode_1, … and metadata.json.

    An episode has T actions and T + 1 observations: s of each step, then s' of the last. Episodes that go on over
    launches (carry_over) are joined; episodes whose beginning or end is not among the batches are left out.
    `minari.load_dataset` reads it, with MINARI_DATASETS_PATH at the folder that FOLDER = ID lies in.
    """

    def __init__(self, folder: str | os.PathLike[str], dataset_id: str):
        import h5py  # optional: pip install vixen[offline]
        self.folder, self.dataset_id = pathlib.Path(folder), dataset_id
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        path = self.folder / "data/main_data.hdf5"
        if path.exists():
            raise ConfigurationError(f"{path} is there already; choose another folder", "folder", str(folder))
        self._file = h5py.File(path, "w")
        self._open: dict[int, list[dict[str, NDArray[Any]]]] = {}  # slot → pieces of its running episode
        self._midway: set[int] = set()  # slots whose running episode began before the first batch
        self._follows: tuple[int, str, int] | None = None  # run, policy and launch that go on
        self.episodes = self.steps = 0
        self._width = 0

    def __enter__(self) -> EpisodeWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def add(self, batch: Batch) -> None:
        """The batch's episodes. Batches of one policy in their order."""
        here = (batch.header.run_id, batch.header.policy, batch.header.launch)
        if not batch.settings.carry_over or here != self._follows:
            self._open.clear()
            midway = batch.settings.carry_over and batch.header.launch > 0
            self._midway = set(range(batch.shape[0])) if midway else set()
        self._follows = (*here[:2], here[2] + 1)
        columns = {"observations": batch.states(), "next": batch.next_states(), "actions": batch["action"],
                   "rewards": batch["reward"], "terminations": batch.terminated, "truncations": batch.truncated,
                   "bar": batch["bar"], "barrier": batch.barrier, "explored": batch.explored}
        if "terms" in batch:
            columns["terms"] = batch["terms"]
        valid, ends = batch.valid, batch.terminated | batch.truncated
        for slot in range(batch.shape[0]):
            begin, steps = 0, int(valid[slot].sum())  # invalid rows stand at the end
            for end in [*np.flatnonzero(ends[slot, :steps]) + 1, steps]:
                if end > begin and slot in self._midway:
                    if ends[slot, end - 1]:
                        self._midway.discard(slot)
                elif end > begin:
                    self._open.setdefault(slot, []).append({k: v[slot, begin:end] for k, v in columns.items()})
                    if ends[slot, end - 1]:
                        self._write(self._open.pop(slot))
                begin = int(end)

    def _write(self, pieces: list[dict[str, NDArray[Any]]]) -> None:
        whole = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        group = self._file.create_group(f"episode_{self.episodes}")
        group.attrs.update(id=self.episodes, total_steps=len(whole["rewards"]),
                           total_reward=float(whole["rewards"].sum(dtype=np.float64)))
        last = whole.pop("next")[-1:]
        whole["observations"] = np.concatenate([whole["observations"], last])
        infos = group.create_group("infos")
        for name in ("bar", "barrier", "explored", "terms"):
            if name in whole:  # one a state, as Minari has it: the last is repeated
                column = whole.pop(name)
                infos.create_dataset(name, data=np.concatenate([column, column[-1:]]))
        whole["actions"] = whole["actions"].astype(np.int64)
        for name, values in whole.items():
            group.create_dataset(name, data=values, compression="gzip", compression_opts=1)
        self.episodes += 1
        self.steps += len(whole["rewards"])
        self._width = whole["observations"].shape[1]

    def close(self) -> None:
        if not self._file:
            return
        self._file.attrs.update(total_episodes=self.episodes, total_steps=self.steps)
        self._file.close()
        path = self.folder / "data/main_data.hdf5"
        box = {"type": "Box", "dtype": "float32", "shape": [self._width], "low": [-float("inf")] * self._width,
               "high": [float("inf")] * self._width}
        metadata = {"total_episodes": self.episodes, "total_steps": self.steps, "data_format": "hdf5",
                    "dataset_id": self.dataset_id, "minari_version": "0.5.0", "observation_space": json.dumps(box),
                    "action_space": json.dumps({"type": "Discrete", "dtype": "int64", "start": 0, "n": ACTIONS}),
                    "dataset_size": round(path.stat().st_size / 1e6, 1), "algorithm_name": "vixen-actor",
                    "barriers": list(BARRIERS), "terms": list(TERMS)}
        (self.folder / "data/metadata.json").write_text(json.dumps(metadata, indent=2) + "\n")
