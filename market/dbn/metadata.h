// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/dbn/input.h"

namespace vixen::market::dbn {

// A symbol stands for `symbol` on the UTC days [first_day, end_day), counted from 1970-01-01.
struct MappingInterval {
  int32_t first_day = 0, end_day = 0;
  std::string symbol;
};

struct Mapping {
  std::string symbol;
  std::vector<MappingInterval> intervals;
};

struct Metadata {
  int version = 0;
  std::string dataset;
  uint16_t schema = 0;
  uint8_t stype_out = 0;
  bool ts_out = false;
  std::vector<std::string> symbols;
  std::vector<Mapping> mappings;
};

// Reads the metadata at the start of `input` and leaves it at the first record. INVALID_ARGUMENT or
// DATA_LOSS naming file, byte offset and fault; other versions than 1, 2 and 3 are refused by
// number.
absl::StatusOr<Metadata> ReadMetadata(Input& input);

}  // namespace vixen::market::dbn
