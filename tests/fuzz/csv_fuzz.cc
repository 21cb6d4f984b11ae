// SPDX-License-Identifier: Apache-2.0
// A CSV file (plain or gzip): whatever is accepted must be valid bars.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "market/bar_check.h"
#include "market/csv/reader.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = vixen::fuzz::InputFile(data, size);
  constexpr struct {
    const char* zone;
    char decimal, thousands;
    vixen::market::Missing missing;
  } kWays[] = {{"", '.', 0, vixen::market::Missing::kError},
               {"UTC", '.', ',', vixen::market::Missing::kSegment},
               {"America/New_York", ',', '.', vixen::market::Missing::kDrop}};
  // One reading an input: mutants of every size come soon.
  const auto& way = kWays[size % std::size(kWays)];
  vixen::market::CsvOptions options;
  options.time_zone = way.zone;
  options.decimal = way.decimal;
  options.thousands = way.thousands;
  options.missing = way.missing;
  const auto bars = vixen::market::ReadCsv({path}, options);
  if (bars.ok() && !vixen::market::ValidateBars(*bars).ok()) abort();
  return 0;
}
