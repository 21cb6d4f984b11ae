// SPDX-License-Identifier: Apache-2.0
#include "market/instrument_bars.h"

#include <utility>

namespace vixen::market {
namespace {

template <typename T>
void MoveOrAppend(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), from.begin(), from.end());
    from = std::vector<T>();
  }
}

}  // namespace

void AppendInstrument(InstrumentBars&& instrument, Bars& bars) {
  const size_t begin = bars.size(), size = instrument.size();
  if (size == 0) return;
  if (instrument.volume.empty()) instrument.volume.assign(size, 0.0);
  bars.instruments.push_back({std::move(instrument.name), begin});
  bars.last.resize(begin + size, 0);
  bars.last.back() = 1;
  for (const uint64_t bar : instrument.breaks) bars.last[begin + bar - 1] = 1;
  MoveOrAppend(bars.timestamp, std::move(instrument.time));
  MoveOrAppend(bars.open, std::move(instrument.open));
  MoveOrAppend(bars.high, std::move(instrument.high));
  MoveOrAppend(bars.low, std::move(instrument.low));
  MoveOrAppend(bars.close, std::move(instrument.close));
  MoveOrAppend(bars.volume, std::move(instrument.volume));
}

}  // namespace vixen::market
