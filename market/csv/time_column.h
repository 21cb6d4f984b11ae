// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "market/csv/calendar.h"
#include "market/csv/options.h"
#include "market/csv/row_error.h"
#include "market/csv/zone.h"

namespace vixen::market::csv {

// The times of one file. All rows must be of one kind: epoch in one unit, or calendar times with
// (or without) offset and time of day. What only the whole column can tell (month or day first) is
// decided in Finish.
class TimeColumn {
 public:
  // `zone`: of times without one; none: such times are refused. Borrowed.
  TimeColumn(Zone* zone, DateOrder order) : zone_(zone), order_(order) {}

  // One row. `clock` is the second half of times in two columns, else empty. The error is the fault
  // in words, without place.
  absl::Status Add(std::string_view text, std::string_view clock, bool two_columns);

  // Takes back the row that was added last.
  void DropLast() {
    first_.pop_back();
    if (!second_.empty()) second_.pop_back();
  }

  // The times in ns UTC. `place` tells where row i (from 0) of file `path` stands.
  template <typename PlaceOf>
  absl::StatusOr<std::vector<int64_t>> Finish(const std::string& path, const PlaceOf& place) {
    if (absl::Status status = ChooseOrder(path); !status.ok()) return status;
    std::vector<int64_t>& times = day_first_ ? second_ : first_;
    if (needs_zone_) {
      for (size_t row = 0; row < times.size(); ++row) {
        const absl::StatusOr<int64_t> utc = zone_->ToUtc(times[row]);
        if (!utc.ok()) return ZoneError(place(row), times[row], utc.status());
        times[row] = *utc;
      }
    }
    return std::move(times);
  }

  size_t size() const { return first_.size(); }
  // Dates without time of day: the bar's start is midnight UTC.
  bool date_only() const { return kind_ == Kind::kDate; }
  // The times carried no zone and got that of the options.
  bool used_zone() const { return needs_zone_; }
  // Every time so far is an integer since 1970.
  bool integer_epoch() const { return kind_ == Kind::kEpoch && integer_; }

 private:
  enum class Kind { kUnknown, kEpoch, kDate, kLocal, kWithOffset };

  absl::Status AddEpoch(const EpochTime& time);
  absl::Status AddCalendar(const CalendarTime& time);
  absl::Status CheckKind(Kind kind);
  absl::Status ChooseOrder(const std::string& path);
  static absl::Status ZoneError(const RowPlace& place, int64_t local_ns, const absl::Status& why);

  Zone* zone_;
  DateOrder order_;
  Kind kind_ = Kind::kUnknown;
  EpochUnit unit_ = EpochUnit::kSeconds;
  bool integer_ = true;
  bool needs_zone_ = false;
  bool open_order_ = false;  // some date's order is open
  bool day_first_ = false;
  bool month_first_fits_ = true, day_first_fits_ = true;
  std::string example_;
  std::vector<int64_t> first_;   // month first, and every time whose order is certain
  std::vector<int64_t> second_;  // day first; only filled when an order is open
};

}  // namespace vixen::market::csv
