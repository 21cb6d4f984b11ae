// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vixen::market {

// Where the bars of an instrument begin; they reach to the next one's.
struct BarInstrument {
  std::string name;  // empty: the source names none
  uint64_t begin = 0;
};

// Bars as columns, oldest first, one or more segments one after another. Prices in float64 as read.
// Valid (checked by ValidateBars): all finite, 0 < low ≤ min(open, close), max(open, close) ≤ high,
// volume ≥ 0, timestamps strictly rising inside a segment.
struct Bars {
  std::vector<int64_t> timestamp;  // ns UTC, the start of the bar
  std::vector<double> open, high, low, close, volume;
  std::vector<uint8_t> last;  // 1 on the last bar of a segment
  bool has_volume = true;     // false: the source has no volume column (volume holds zeros)
  std::vector<BarInstrument> instruments;    // in order; the same name again after a roll
  std::map<std::string, uint64_t> left_out;  // rows or records that gave no bar, by reason
  std::vector<std::string> warnings;
  std::map<std::string, std::string>
      metadata;  // about the source, for the dataset made of the bars

  size_t size() const { return timestamp.size(); }
};

}  // namespace vixen::market
