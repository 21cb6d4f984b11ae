// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/bar.h"
#include "market/dbn/options.h"

namespace vixen::market {

// Reads the OHLCV bars of Databento's DBN files, versions 1 to 3, plain or in Zstandard frames, in
// the order given; a later file continues the instruments of the earlier ones. Prices are the
// file's integers divided by 1e9. Instruments come in order of first appearance, each a segment; a
// symbol that passes to another instrument (a roll) begins a new one. Other kinds of records are
// passed over and counted (Bars::left_out).
//
// INVALID_ARGUMENT naming file, record (from 0), time, field and value; DATA_LOSS naming the byte
// offset of what is cut or damaged; UNIMPLEMENTED with a hint for schemas without bars (trades,
// books); usage errors for an interval or publisher that has to be chosen. O(records).
absl::StatusOr<Bars> ReadDbn(const std::vector<std::string>& paths, const DbnOptions& options);

}  // namespace vixen::market
