// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "market/bar.h"

namespace vixen::market {

// Features that the user brings, a row a bar.
struct OwnFeatures {
  std::string source;              // the file, for errors
  std::vector<std::string> names;  // F
  std::vector<float> values;       // [T, F] row-major
  std::vector<int64_t> timestamp;  // [T] of the bars, to be compared; empty: not known
};

// As many rows as bars, the same times where they are known, all values finite: INVALID_ARGUMENT
// naming file, row, column and value otherwise.
absl::Status CheckOwnFeatures(const OwnFeatures& features, const Bars& bars);

}  // namespace vixen::market
