// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "market/dataset.h"
#include "market/synth/bed.h"

namespace vixen::market {

// Segments of a training series: the level starts again often enough that prices stay near 100.
inline constexpr uint64_t kBedSegmentBars = 10'000;

struct BedSeries {
  uint64_t seed = 1;
  uint64_t bars = 200'000;
  uint32_t distractors = 0;  // columns of N(0, 1) after the signals
};

// A training dataset: segments of kBedSegmentBars bars (the last one may be shorter), each a walk
// of its own. Features are raw; targets from P_t = 100·exp(k·x_t), next high and low the larger and
// smaller of the two closes. The metadata says bed, seed, cost, the optimum and the settings
// (BedEnvironment).
absl::StatusOr<std::shared_ptr<const Dataset>> MakeBedDataset(const Bed& bed,
                                                              const BedSeries& series);

// The market of an evaluation: segment i is paths[i], walked from the noise of seed first_seed + i.
struct BedEvaluation {
  std::vector<BedPath> paths;
  std::shared_ptr<const Dataset> dataset;
};
absl::StatusOr<BedEvaluation> MakeBedEvaluation(const Bed& bed, uint64_t first_seed,
                                                uint32_t episodes, uint32_t steps,
                                                uint32_t distractors);

}  // namespace vixen::market
