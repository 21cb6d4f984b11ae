// SPDX-License-Identifier: Apache-2.0
// Texts of `vixen import`'s flags as values. All errors are usage errors that name the flag, the
// text and what is accepted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/dataset.h"
#include "market/import.h"

namespace vixen::tool {

// "90m", "72h", "1h30m", "3d": ns, > 0.
absl::StatusOr<int64_t> ParseDuration(const std::string& flag, const std::string& text);
// "0:4780".
absl::StatusOr<market::BarRange> ParseRange(const std::string& flag, const std::string& text);
// "0.8", "2024-01-02" (midnight UTC) or "2024-01-02T14:30:00-05:00".
absl::StatusOr<market::SplitPoint> ParseSplit(const std::string& text);
// {"time=Datum", "open=Eröffnung"}: by role.
absl::StatusOr<std::map<std::string, std::string>> ParseColumns(
    const std::vector<std::string>& texts);
// ",", ";", "|", "tab" or "\t".
absl::StatusOr<char> ParseDelimiter(const std::string& text);

}  // namespace vixen::tool
