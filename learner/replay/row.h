// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "kernels/env/settings.h"

namespace vixen::learner {

// The compact columns of one launch, borrowed: [N, L] row-major by slot, so that consecutive steps
// of a slot are consecutive rows.
struct LaunchRows {
  uint32_t episodes = 0;  // N
  uint32_t steps = 0;     // L
  const uint32_t* bar = nullptr;
  const uint8_t* action = nullptr;
  const uint8_t* flags = nullptr;
  const float* portfolio = nullptr;       // [N·L, 3] of s
  const float* next_portfolio = nullptr;  // [N·L, 3] of s'
  const float* reward = nullptr;
  const float* td = nullptr;

  size_t rows() const { return size_t{episodes} * steps; }
};

// One row of the replay: a step and its n-step return. The learner needs no episode logic beside
// it: the target is reward + discount·Q'(bootstrap state).
struct ReplayRow {
  uint32_t bar = 0;            // s = features[bar] ‖ portfolio
  uint32_t bootstrap_bar = 0;  // features of the state m steps on
  float portfolio[kernels::kPortfolioFeatures] = {};
  float next_portfolio[kernels::kPortfolioFeatures] = {};  // s' = features[bar + 1] ‖ this
  float bootstrap_portfolio[kernels::kPortfolioFeatures] = {};
  float reward = 0;    // Σ_{k<m} γ^k r_{i+k}
  float discount = 0;  // γ^m, 0 when the window ends in a terminal step
  float td = 0;        // |td| of the actor, one step
  uint8_t action = 0;
  uint8_t flags = 0;
};

// Rows in whatever memory the replay takes them from fastest (Updater::row_memory).
using RowList = std::pmr::vector<ReplayRow>;

}  // namespace vixen::learner
