# SPDX-License-Identifier: Apache-2.0
"""How glibc treats the memory that a stream of batches frees."""
from __future__ import annotations

import ctypes
import functools
import os

# <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MMAP_BYTES, TRIM_BYTES = 32 << 20, 256 << 20  # 32 MiB is the most that glibc before 2.35 takes


@functools.cache
def keep_freed_memory() -> bool:
    """Blocks up to 32 MiB come from the heap, whose end is given back from 256 MiB on, for the whole process and for
    good. False, and nothing changed, where the C library is not glibc or the environment already says how it is to be
    (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_).

    gRPC and numpy free some megabytes a batch and need as much again at once. With glibc's defaults each round goes
    back to the system and is mapped and zeroed anew: a third of the receiver's time. What lies freed below a block in
    use stays with the process, as in any heap.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    kept = [mallopt(option, value) for option, value in ((M_MMAP_THRESHOLD, MMAP_BYTES), (M_TRIM_THRESHOLD, TRIM_BYTES))]
    return all(kept)
