// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "market/dbn/options.h"
#include "market/instrument_bars.h"

namespace vixen::market::dbn {

// Where a record stands: file by its number, record in it from 0.
struct RecordPlace {
  uint32_t file = 0;
  uint64_t record = 0;
};

// The bars of one instrument so far.
struct Series {
  InstrumentBars bars;
  RecordPlace last;  // of the bar that stands last
  bool cut = false;  // the next bar begins a segment
};

// A bar as the record holds it.
struct RawBar {
  int64_t time = 0;                 // ns UTC
  std::array<int64_t, 4> prices{};  // open, high, low, close in 1e-9
  uint64_t volume = 0;
};

// "FILE: record N, time T: fault".
absl::Status BarFaultAt(const std::vector<std::string>& paths, RecordPlace place, int64_t time,
                        const std::string& fault);

// Adds a bar behind those of its series, or treats it as `options` say of undefined prices and
// repeated times; what is left out is counted by reason. INVALID_ARGUMENT, naming file, record,
// time, field and value, for what is no bar and for falling times.
absl::Status AppendBar(const RawBar& bar, RecordPlace place, const std::vector<std::string>& paths,
                       const DbnOptions& options, Series& series,
                       std::map<std::string, uint64_t>& left_out);

}  // namespace vixen::market::dbn
