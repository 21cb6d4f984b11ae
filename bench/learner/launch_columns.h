// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "learner/replay/row.h"

namespace vixen::bench {

// Columns as a launch of 128 × 500 leaves them: a tenth explored, an episode's end each 70 rows.
class LaunchColumns {
 public:
  static constexpr uint32_t kEpisodes = 128;
  static constexpr uint32_t kSteps = 500;
  static constexpr uint64_t kRows = uint64_t{kEpisodes} * kSteps;
  static constexpr uint64_t kBars = 1'000'000;

  LaunchColumns();
  // Borrowed from this object.
  learner::LaunchRows rows() const;

 private:
  std::vector<uint32_t> bar_;
  std::vector<uint8_t> action_, flags_;
  std::vector<float> portfolio_, next_portfolio_, reward_, td_;
};

}  // namespace vixen::bench
