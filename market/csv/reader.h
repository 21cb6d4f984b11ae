// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/bar.h"
#include "market/csv/options.h"

namespace vixen::market {

// Reads CSV files (plain or gzip) in the order given. A later file continues the instruments of the
// earlier ones. Each instrument is a segment, in order of first appearance. All bars are valid
// (market/bar_check.h). Errors are INVALID_ARGUMENT naming file, line, row, time, field and value,
// or what opening and reading a file gave; options that cannot be are usage errors.
absl::StatusOr<Bars> ReadCsv(const std::vector<std::string>& paths, const CsvOptions& options);

}  // namespace vixen::market
