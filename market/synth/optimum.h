// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "market/synth/bed.h"

namespace vixen::market {

// Positions −1, 0, 1 by index 0, 1, 2.
inline constexpr int kPositions = 3;
inline constexpr uint8_t kFlatPosition = 1;

// The best policy of a bed for the mean reward a step, undiscounted.
struct Optimum {
  double reward = 0;                                    // J*, bed units a step
  std::vector<std::array<uint8_t, kPositions>> policy;  // [states][previous position] → position

  // Positions along a path that begins flat.
  std::vector<uint8_t> Follow(const BedPath& path) const;
};

// Relative value iteration over (state, position) until J* is known to 1e-9. Equal actions: keep
// the position.
Optimum SolveOptimum(const DecisionChain& chain, double cost);

// Mean reward a step and mean |change of position| of positions along a path, in bed units.
struct PathReward {
  double reward = 0;
  double turnover = 0;
};
PathReward Evaluate(const BedPath& path, const std::vector<uint8_t>& positions, double cost);

}  // namespace vixen::market
