// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vixen::market::csv {

// A time zone that turns local times into UTC and refuses those that clock changes make ambiguous
// or skip. Not thread-safe (remembers the last day).
class Zone {
 public:
  // An IANA name, "UTC" or an offset such as "-05:00". A usage error when it is neither.
  static absl::StatusOr<Zone> Parse(const std::string& text);

  // `local_ns`: the local clock as if it were UTC. INVALID_ARGUMENT when that clock reading occurs
  // twice or never; the message says which and what would help.
  absl::StatusOr<int64_t> ToUtc(int64_t local_ns);

  const std::string& name() const { return name_; }

 private:
  Zone(std::string name, absl::TimeZone zone) : name_(std::move(name)), zone_(zone) {}

  std::string name_;
  absl::TimeZone zone_;
  int64_t day_ = INT64_MIN;  // local day whose offset is `offset_ns_` from midnight to midnight
  int64_t offset_ns_ = 0;
};

}  // namespace vixen::market::csv
