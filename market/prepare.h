// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "market/bar.h"

namespace vixen::market {

// What may be done to bars between reading and importing, in this order. None of it lets a later
// bar or action change an earlier bar.
struct PrepareOptions {
  std::string factors;    // a file of splits and dividends (market/factors.h)
  std::string session;    // "09:30-16:00": bars outside are left out, each day a segment
  std::string time_zone;  // of session and factors' dates; a session needs one
  std::optional<int64_t> resample_ns;  // longer bars; from a day on they are not cut by the session
};

// Errors are those of the parts, or a usage error for a session without zone.
absl::Status PrepareBars(const PrepareOptions& options, Bars& bars);

}  // namespace vixen::market
