// SPDX-License-Identifier: Apache-2.0
// A DBN file (plain or Zstandard): whatever is accepted must be valid bars.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "market/bar_check.h"
#include "market/dbn/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int kFile = memfd_create("dbn", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (ftruncate(kFile, 0) != 0 || pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size))
    abort();
  vixen::market::DbnOptions lenient;
  lenient.interval = "1m";
  lenient.publisher = 1;
  lenient.duplicates = vixen::market::Duplicates::kSegment;
  lenient.missing = vixen::market::Missing::kSegment;
  for (const vixen::market::DbnOptions& options : {vixen::market::DbnOptions(), lenient}) {
    auto bars = vixen::market::ReadDbn({kPath}, options);
    if (bars.ok() && !vixen::market::ValidateBars(*bars).ok()) abort();
  }
  return 0;
}
