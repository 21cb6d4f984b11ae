# SPDX-License-Identifier: Apache-2.0
"""One launch's rows as numpy arrays."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from .dataset import Dataset

VALID, TERMINATED, TRUNCATED, BARRIER_SHIFT, EXPLORED = 1, 2, 4, 3, 32
BARRIERS = ("none", "profit", "stop", "time")
TERMS = ("pnl", "barrier", "risk", "diversity", "curiosity")


class Batch(Mapping[str, NDArray[Any]]):
    """`batch["reward"]` is [N, L], `batch["portfolio"]` [N, L, 3]: views of the received bytes, writable and yours.

    Row [n, l] is step l of slot n; rows that are not `valid` are all zero. `header` and `statistics` are the
    messages BatchHeader and LaunchStatistics, `settings` the EnvironmentSettings of the run.
    """

    def __init__(self, header: Any, statistics: Any, settings: Any, columns: dict[str, NDArray[Any]], nbytes: int,
                 acknowledge: Callable[[Batch], None] | None = None, dataset: Dataset | None = None):
        self.header, self.statistics, self.settings = header, statistics, settings
        self.columns, self.nbytes, self.dataset = columns, nbytes, dataset
        self._acknowledge = acknowledge
        self.acknowledged = False
        rows = int(np.count_nonzero(columns["flags"] & VALID))
        if rows != statistics.valid_rows:
            raise DataError(f"batch {header.sequence} has {rows} valid rows, its trailer says {statistics.valid_rows}",
                            "flags", rows)
        self.rows = rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.columns:
            raise ConfigurationError(f"the stream has no column {name!r}; it has {', '.join(self.columns)} (ask for "
                                     "more by terms=, state=, next_state=)", "column", name)
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return (f"<Batch {self.header.policy} sequence {self.header.sequence} of run {self.header.run_id:016x}: "
                f"{self.rows} valid of {self.shape[0]}×{self.shape[1]} rows>")

    @property
    def shape(self) -> tuple[int, int]:
        """(N slots, L steps)."""
        episodes, steps = self.columns["flags"].shape
        return episodes, steps

    @property
    def identity(self) -> tuple[int, int]:
        """(run id, sequence): the same batch sent again has the same."""
        return self.header.run_id, self.header.sequence

    @property
    def valid(self) -> NDArray[Any]:
        return (self.columns["flags"] & VALID).astype(bool)

    @property
    def terminated(self) -> NDArray[Any]:
        return (self.columns["flags"] & TERMINATED).astype(bool)

    @property
    def truncated(self) -> NDArray[Any]:
        return (self.columns["flags"] & TRUNCATED).astype(bool)

    @property
    def explored(self) -> NDArray[Any]:
        return (self.columns["flags"] & EXPLORED).astype(bool)

    @property
    def barrier(self) -> NDArray[Any]:
        """0 none, 1 profit, 2 stop, 3 time (BARRIERS)."""
        return (self.columns["flags"] >> BARRIER_SHIFT) & 3

    def _dataset(self, dataset: Dataset | None) -> Dataset:
        dataset = dataset or self.dataset
        if dataset is None:
            raise ConfigurationError("states need the dataset: batches(dataset=actor.dataset()), or the column by "
                                     "batches(state=True)", "dataset")
        return dataset

    def states(self, dataset: Dataset | None = None) -> NDArray[Any]:
        """s, float32 [N, L, F + 3]: the column when the stream has it, else the dataset's bar and the portfolio."""
        if "state" in self.columns:
            return self.columns["state"]
        return self._dataset(dataset).states(self.columns["bar"], self.columns["portfolio"], where=self._where())

    def next_states(self, dataset: Dataset | None = None) -> NDArray[Any]:
        """s', the same episode's, never a fresh one's."""
        if "next_state" in self.columns:
            return self.columns["next_state"]
        return self._dataset(dataset).states(self.columns["bar"], self.columns["next_portfolio"], offset=1,
                                             where=self._where())

    def _where(self) -> NDArray[Any] | None:
        return None if self.rows == self.shape[0] * self.shape[1] else self.valid

    def flat(self, *names: str) -> dict[str, NDArray[Any]]:
        """The valid rows of the named columns (all, when none is named), [M] or [M, width], slot by slot.

        Views when every row is valid, else copies.
        """
        wanted = names or tuple(name for name, column in self.columns.items() if column.shape[:2] == self.shape)
        if self.rows == self.shape[0] * self.shape[1]:
            return {name: self[name].reshape(-1, *self[name].shape[2:]) for name in wanted}
        valid = self.valid
        return {name: self[name][valid] for name in wanted}

    def records(self, *names: str) -> NDArray[Any]:
        """The valid rows as one structured array (a copy: a batch is stored by column)."""
        flat = self.flat(*names)
        dtype = [(name, column.dtype, column.shape[1:]) for name, column in flat.items()]
        table = np.empty(self.rows, dtype)
        for name, column in flat.items():
            table[name] = column
        return table

    def ack(self) -> None:
        """Says that the rows are taken over; asking for the next batch says it too. Any thread; repeats do nothing."""
        if not self.acknowledged and self._acknowledge is not None:
            self._acknowledge(self)
        self.acknowledged = True
