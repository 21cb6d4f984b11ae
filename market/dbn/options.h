// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "market/row_policy.h"

namespace vixen::market {

// How DBN files are to be read. The defaults refuse what is not certain.
struct DbnOptions {
  // Instruments to read, by symbol or by id in decimal; empty: all.
  std::vector<std::string> symbols;
  // "1s", "1m", "1h", "1d" or "eod"; empty: the only one that the files hold.
  std::string interval;
  std::optional<uint16_t> publisher;  // where an instrument comes from several
  Duplicates duplicates = Duplicates::kError;
  Missing missing = Missing::kError;  // bars with an undefined price
};

}  // namespace vixen::market
