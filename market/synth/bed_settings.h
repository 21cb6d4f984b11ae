// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "market/synth/bed.h"

namespace vixen::market {

// The three actions of a bed: short, flat and long by market orders of normal urgency.
inline constexpr int kBedActions[] = {1, 19, 37};

// Settings under which the bar environment pays a bed's rewards in bed units, as the fields of an
// EnvironmentSettings message (proto/vixen/v1/config.proto) in text form, one a line: positions of
// 0.9 of the equity, `pnl_scale` = 1/(0.9·k), the bed's cost on every trade, barriers out of reach,
// the spread and all other reward terms off.
std::string BedEnvironment(const BedTraits& traits);

}  // namespace vixen::market
