// SPDX-License-Identifier: Apache-2.0
// A CSV file (plain or gzip): whatever is accepted must be valid bars.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "market/bar_check.h"
#include "market/csv/reader.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = vixen::fuzz::InputFile(data, size);
  vixen::market::CsvOptions options;
  // One reading an input: mutants of either size come soon.
  options.time_zone = size % 2 == 0 ? "" : "UTC";
  const auto bars = vixen::market::ReadCsv({path}, options);
  if (bars.ok() && !vixen::market::ValidateBars(*bars).ok()) abort();
  return 0;
}
