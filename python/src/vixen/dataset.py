# SPDX-License-Identifier: Apache-2.0
"""The bars that actor and learner share, mapped from their file."""
from __future__ import annotations

import hashlib
import json
import os
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tensor_file
from .errors import DataError


class Dataset:
    """features F32 [T, F], targets F32 [T, 4] (close, next_close, next_high, next_low), last U8 [T], timestamp
    I64 [T] (ns UTC). Read-only views of the file's pages; `fingerprint` is computed from them."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        tensors, self.metadata = tensor_file.read(self.path)
        if self.metadata.get("format") != "vixen-dataset":
            raise DataError(f"{self.path}: format is {self.metadata.get('format')!r}, expected 'vixen-dataset' (vixen "
                            "import and vixen synth make it)", "format", self.metadata.get("format"))
        for name, dtype, dimensions in (("features", "<f4", 2), ("targets", "<f4", 2), ("last", "u1", 1),
                                        ("timestamp", "<i8", 1)):
            tensor = tensors.get(name)
            if tensor is None or tensor.dtype != dtype or tensor.ndim != dimensions:
                found = "missing" if tensor is None else f"{tensor.dtype} {tensor.shape}"
                raise DataError(f"{self.path}: tensor {name} is {found}", name, found)
        self.features, self.targets = tensors["features"], tensors["targets"]
        self.last, self.timestamp = tensors["last"], tensors["timestamp"]
        if self.targets.shape[1] != 4 or not len(self.features) == len(self.targets) == len(self.last):
            raise DataError(f"{self.path}: features {self.features.shape}, targets {self.targets.shape} and last "
                            f"{self.last.shape} do not belong together", "targets", self.targets.shape)
        self.feature_names: list[str] = json.loads(self.metadata.get("feature_names", "[]"))
        self.fingerprint = self._fingerprint()

    def _fingerprint(self) -> bytes:
        digest = hashlib.sha256(struct.pack("<IQ", self.features.shape[1], len(self.features)))
        for tensor in (self.features, self.targets, self.last):
            digest.update(tensor.data)
        return digest.digest()

    @property
    def scaler_fingerprint(self) -> bytes:
        return bytes.fromhex(self.metadata.get("scaler_fingerprint", ""))

    def __len__(self) -> int:
        """T, the number of bars."""
        return len(self.features)

    @property
    def state_width(self) -> int:
        return int(self.features.shape[1]) + 3

    def states(self, bar: NDArray[Any], portfolio: NDArray[Any], offset: int = 0,
               where: NDArray[Any] | None = None) -> NDArray[Any]:
        """What the network saw, float32 […, F + 3]: features of `bar` + `offset`, then the portfolio's three.

        Bit for bit the executor's own. Rows outside `where` stay zero. For s' give next_portfolio and offset 1.
        """
        rows = bar.astype(np.int64) + offset
        if where is not None:
            rows = np.where(where, rows, 0)
        if rows.size and (rows.min() < 0 or rows.max() >= len(self)):
            worst = int(rows.max() if rows.max() >= len(self) else rows.min())
            raise DataError(f"bar {worst} is outside the dataset's {len(self)}: the batch is of other bars", "bar", worst)
        states = np.empty((*bar.shape, self.state_width), np.float32)
        states[..., :-3] = self.features[rows]
        states[..., -3:] = portfolio
        if where is not None:
            states[~where] = 0
        return states


def default_cache() -> str:
    """The folder that vixen-learner uses too: a file fetched by one serves the other."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "vixen")
