// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/batch/columns.h"
#include "learner/replay/n_step.h"

namespace vixen::learner {

inline constexpr uint64_t kBars = 1'000'000;

// The owner of one launch's columns.
struct Launch {
  Launch(uint32_t episodes, uint32_t steps) : episodes(episodes), steps(steps) {
    const size_t rows = size_t{episodes} * steps;
    bar.resize(rows);
    action.resize(rows);
    flags.resize(rows, kernels::kFlagValid);
    portfolio.resize(3 * rows);
    next_portfolio.resize(3 * rows);
    reward.resize(rows);
    td.resize(rows);
    for (size_t i = 0; i < rows; ++i) {
      bar[i] = static_cast<uint32_t>(i);
      next_portfolio[3 * i] = static_cast<float>(i) + 0.5f;
    }
  }
  LaunchRows rows() const {
    return {episodes,
            steps,
            bar.data(),
            action.data(),
            flags.data(),
            portfolio.data(),
            next_portfolio.data(),
            reward.data(),
            td.data()};
  }

  uint32_t episodes, steps;
  std::vector<uint32_t> bar;
  std::vector<uint8_t> action, flags;
  std::vector<float> portfolio, next_portfolio, reward, td;
};

}  // namespace vixen::learner
