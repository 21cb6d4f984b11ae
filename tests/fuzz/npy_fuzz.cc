// SPDX-License-Identifier: Apache-2.0
// An NPY or NPZ file: whatever is accepted as bars must be valid bars, whatever is accepted as
// features of bars must be finite.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "market/bar_check.h"
#include "market/npy/reader.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = vixen::fuzz::InputFile(data, size);
  vixen::market::NpyOptions lenient;
  lenient.missing = vixen::market::Missing::kSegment;
  lenient.duplicates = vixen::market::Duplicates::kSegment;
  vixen::market::NpyOptions matrix = lenient;
  matrix.columns = {{"time", "1"}, {"open", "2"}, {"high", "3"}, {"low", "4"}, {"close", "5"}};
  for (const vixen::market::NpyOptions& options : {vixen::market::NpyOptions(), lenient, matrix}) {
    auto bars = vixen::market::ReadNpy({path}, options);
    if (!bars.ok()) continue;
    if (!vixen::market::ValidateBars(*bars).ok()) abort();
    auto features = vixen::market::ReadOwnFeatures(path, {});
    if (!features.ok() || !vixen::market::CheckOwnFeatures(*features, *bars).ok()) continue;
    for (const float value : features->values) {
      if (!std::isfinite(value)) abort();
    }
  }
  return 0;
}
