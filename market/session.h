// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "market/bar.h"

namespace vixen::market {

// The hours in which an exchange trades, by the clock of its zone. A session whose close is not
// after its open reaches into the next day (17:00-16:00).
class Session {
 public:
  // "09:30-16:00" and an IANA zone, UTC or an offset. A usage error when either is not understood.
  static absl::StatusOr<Session> Parse(const std::string& hours, const std::string& zone);

  // The session that a bar starts in; nothing between two sessions.
  struct Place {
    int64_t day = 0;       // of the session's open, by the local clock
    int64_t open_ns = 0;   // UTC
    int64_t close_ns = 0;  // UTC
  };
  std::optional<Place> At(int64_t utc_ns);

  const std::string& text() const { return text_; }

 private:
  int64_t OffsetAt(int64_t utc_ns);
  int64_t UtcOf(int64_t local_ns);

  std::string text_;
  absl::TimeZone zone_;
  int64_t open_ = 0, close_ = 0;  // ns since midnight; close > open, also beyond a day
  int64_t quarter_ = INT64_MIN;   // whose offset is known: clocks change at its ends only
  int64_t offset_ = 0;
};

// Leaves out the bars that start outside the session (counted in left_out) and, with `cut`, ends a
// segment at each session's end. INVALID_ARGUMENT when no bar is left.
absl::Status ApplySession(Session& session, bool cut, Bars& bars);

// Keeps the bars for which keep[bar] is 1: a segment's last kept bar ends it.
void KeepBars(const std::vector<uint8_t>& keep, Bars& bars);

}  // namespace vixen::market
