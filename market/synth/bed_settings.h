// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "market/synth/bed.h"

namespace vixen::market {

// The three actions of a bed: short, flat and long by market orders of normal urgency.
inline constexpr int kBedActions[] = {1, 19, 37};

// Settings of the bar environment under which it pays a bed's rewards in bed units: positions of
// 0.9 of the equity, `pnl_scale` = 1/(0.9·k), the bed's cost on every trade, barriers out of reach,
// every other reward term, the spread and borrowing off. Names as in proto/vixen/v1/config.proto.
struct BedSettings {
  uint32_t episodes = 64;
  uint32_t steps = 4;
  uint32_t max_episode_steps = 500;
  double reserve = 0.1;
  double cost_bps = 0;  // of every style
  double pnl_scale = 1;
  double rebalance_band = 0.05;
  double barrier_bps = 1e6;  // profit target and stop loss
  uint32_t max_holding_bars = 1'000'000;
  double min_equity = 0.01;
  double gamma = 0.95;
};

BedSettings SettingsOf(const BedTraits& traits);

// The same as the fields of an EnvironmentSettings message in text form, one a line, with
// `carry_over`.
std::string ToTextproto(const BedSettings& settings);

}  // namespace vixen::market
