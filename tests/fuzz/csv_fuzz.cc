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

namespace {

using vixen::market::Missing;

struct Way {
  const char* zone;
  char decimal, thousands;
  Missing missing;
};
constexpr Way kWays[] = {{"", '.', 0, Missing::kError},
                         {"UTC", '.', ',', Missing::kSegment},
                         {"America/New_York", ',', '.', Missing::kDrop}};

void Read(const std::string& path, const Way& way) {
  vixen::market::CsvOptions options;
  options.time_zone = way.zone;
  options.decimal = way.decimal;
  options.thousands = way.thousands;
  options.missing = way.missing;
  const auto bars = vixen::market::ReadCsv({path}, options);
  if (bars.ok() && !vixen::market::ValidateBars(*bars).ok()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = vixen::fuzz::InputFile(data, size);
#ifdef VIXEN_FUZZ_REPLAY
  for (const Way& way : kWays) Read(path, way);
#else
  Read(path, kWays[size % std::size(kWays)]);  // mutants of every size come soon
#endif
  return 0;
}
