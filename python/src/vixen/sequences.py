# SPDX-License-Identifier: Apache-2.0
"""Sets of batch numbers as ascending ranges: mostly one range, whatever the length of the run."""
from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator


class SequenceSet:
    def __init__(self, ranges: Iterable[tuple[int, int]] = ()):
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            for sequence in (first, last):
                if sequence < 0 or last < first or (self._lasts and first <= self._lasts[-1]):
                    raise ValueError(f"ranges must ascend without overlap; {first}…{last} does not")
            self._firsts.append(first)
            self._lasts.append(last)

    def add(self, sequence: int) -> bool:
        """False when it was there."""
        at = bisect.bisect_right(self._firsts, sequence)
        if at > 0 and sequence <= self._lasts[at - 1]:
            return False
        joins_left = at > 0 and self._lasts[at - 1] + 1 == sequence
        joins_right = at < len(self._firsts) and self._firsts[at] == sequence + 1
        if joins_left and joins_right:
            self._lasts[at - 1] = self._lasts.pop(at)
            self._firsts.pop(at)
        elif joins_left:
            self._lasts[at - 1] = sequence
        elif joins_right:
            self._firsts[at] = sequence
        else:
            self._firsts.insert(at, sequence)
            self._lasts.insert(at, sequence)
        return True

    def __contains__(self, sequence: int) -> bool:
        at = bisect.bisect_right(self._firsts, sequence)
        return at > 0 and sequence <= self._lasts[at - 1]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The ranges (first, last)."""
        return iter(list(zip(self._firsts, self._lasts)))

    def __len__(self) -> int:
        """How many numbers."""
        return sum(last - first + 1 for first, last in self)
