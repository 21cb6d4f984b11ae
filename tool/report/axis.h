// SPDX-License-Identifier: Apache-2.0
// Where the ticks of a chart's axis go and what they say.
#pragma once

#include <string>
#include <vector>

namespace vixen::tool {

enum class AxisFormat { kNumber, kPercent, kMoney, kTime, kCount };

struct Tick {
  double value = 0;
  std::string label;
};

// At most about `most` ticks at 1, 2, 2.5 or 5 times a power of ten inside [low, high].
std::vector<Tick> LinearTicks(double low, double high, int most, AxisFormat format);
// On a logarithmic scale: powers of ten and their 2 and 5 folds, or linear ticks where the range is
// narrow. REQUIRES: 0 < low ≤ high.
std::vector<Tick> LogTicks(double low, double high, int most, AxisFormat format);
// `low` and `high` in ns UTC: at whole minutes, hours, days, months or years.
std::vector<Tick> TimeTicks(double low, double high, int most);

}  // namespace vixen::tool
