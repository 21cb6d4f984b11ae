// SPDX-License-Identifier: Apache-2.0
#include "bench/learner/launch_columns.h"

#include <cmath>
#include <random>

#include "kernels/batch/columns.h"

namespace vixen::bench {

LaunchColumns::LaunchColumns() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < kRows; ++i) {
    bar_.push_back(static_cast<uint32_t>(i % (kBars - 1)));
    action_.push_back(static_cast<uint8_t>(random() % kernels::kActions));
    const bool ends = i % 70 == 69;
    flags_.push_back(static_cast<uint8_t>(kernels::kFlagValid |
                                          (random() % 10 == 0 ? kernels::kFlagExplored : 0) |
                                          (ends ? kernels::kFlagTerminated : 0)));
    for (int k = 0; k < kernels::kPortfolioFeatures; ++k) {
      portfolio_.push_back(normal(random));
      next_portfolio_.push_back(normal(random));
    }
    reward_.push_back(normal(random));
    td_.push_back(std::fabs(normal(random)));
  }
}

learner::LaunchRows LaunchColumns::rows() const {
  return {kEpisodes,
          kSteps,
          bar_.data(),
          action_.data(),
          flags_.data(),
          portfolio_.data(),
          next_portfolio_.data(),
          reward_.data(),
          td_.data()};
}

}  // namespace vixen::bench
