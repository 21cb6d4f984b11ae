// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

namespace vixen::base {

// Freed memory up to these sizes stays with the process. A stream of batches frees some megabytes
// of receive buffers at a time and needs as much again at once: with glibc's defaults each round
// goes back to the system and is zeroed and mapped anew, a quarter of the stream receiver's time a
// byte. First thing in main.
inline void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

}  // namespace vixen::base
