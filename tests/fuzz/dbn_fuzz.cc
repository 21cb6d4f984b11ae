// SPDX-License-Identifier: Apache-2.0
// A DBN file (plain or Zstandard): whatever is accepted must be valid bars.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "market/bar_check.h"
#include "market/dbn/reader.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = vixen::fuzz::InputFile(data, size);
  vixen::market::DbnOptions lenient;
  lenient.interval = "1m";
  lenient.publisher = 1;
  lenient.duplicates = vixen::market::Duplicates::kSegment;
  lenient.missing = vixen::market::Missing::kSegment;
  for (const vixen::market::DbnOptions& options : {vixen::market::DbnOptions(), lenient}) {
    auto bars = vixen::market::ReadDbn({path}, options);
    if (bars.ok() && !vixen::market::ValidateBars(*bars).ok()) abort();
  }
  return 0;
}
