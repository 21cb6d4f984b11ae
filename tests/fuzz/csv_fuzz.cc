// SPDX-License-Identifier: Apache-2.0
// A CSV file (plain or gzip): whatever is accepted must be valid bars.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "market/bar_check.h"
#include "market/csv/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int kFile = memfd_create("csv", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (ftruncate(kFile, 0) != 0 || pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size))
    abort();
  for (const char* zone : {"", "UTC"}) {
    vixen::market::CsvOptions options;
    options.time_zone = zone;
    auto bars = vixen::market::ReadCsv({kPath}, options);
    if (bars.ok() && !vixen::market::ValidateBars(*bars).ok()) abort();
  }
  return 0;
}
