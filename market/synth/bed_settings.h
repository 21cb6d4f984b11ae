// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "market/synth/bed.h"

namespace vixen::market {

// The three actions of a bed: short, flat and long by market orders of normal urgency.
inline constexpr int kBedActions[] = {1, 19, 37};

// EnvironmentSettings (proto/vixen/v1/config.proto) in text form under which the bar environment
// pays a bed's rewards in bed units: positions of 0.9 of the equity, `pnl_scale` = 1/(0.9·k), the
// bed's cost on every trade, no other reward term and no barrier within reach. One field a line,
// ending with a newline.
std::string BedEnvironment(const BedTraits& traits);

}  // namespace vixen::market
