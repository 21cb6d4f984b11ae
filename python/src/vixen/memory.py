# SPDX-License-Identifier: Apache-2.0
"""How glibc treats the memory that a stream of batches frees."""
from __future__ import annotations

import ctypes
import functools

# <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 256 << 20


@functools.cache
def keep_freed_memory() -> bool:
    """Freed memory up to KEPT_BYTES stays with the process; False where the C library is not glibc.

    gRPC and numpy free some megabytes a batch and need as much again at once. With glibc's defaults each round goes
    back to the system and is mapped and zeroed anew: a third of the receiver's time. MALLOC_ARENA_MAX and the other
    variables of mallopt(3) keep their meaning.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)) and bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
