// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "market/bar.h"

namespace vixen::market {

// The bars of one instrument as a reader collects them, oldest first.
struct InstrumentBars {
  std::string name;  // empty: the source names none
  std::vector<int64_t> time;
  std::vector<double> open, high, low, close;
  std::vector<double> volume;    // empty: the source has none
  std::vector<uint64_t> breaks;  // rising bars > 0 before which a segment ends

  size_t size() const { return time.size(); }
};

// Puts the instrument's bars behind those in `bars`; they begin and end segments of their own.
// Moves the columns where `bars` is empty. Nothing for an instrument without bars.
void AppendInstrument(InstrumentBars&& instrument, Bars& bars);

}  // namespace vixen::market
