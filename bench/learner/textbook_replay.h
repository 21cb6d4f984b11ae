// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "learner/replay/random.h"

namespace vixen::bench {

// The peer of learner::Replay: the priorities of arXiv:1511.05952 as they are mostly written, a
// binary tree of sums and one of minima, one row after another. The same law of draws, the same
// importance weights.
class TextbookReplay {
 public:
  TextbookReplay(size_t capacity, double alpha, double epsilon);

  // The leaf of a row becomes (|td| + epsilon)^alpha.
  void Set(uint32_t slot, float td);
  // One row from each of `count` equal parts of the mass. Every row must have been set.
  void Draw(size_t count, double beta, std::vector<uint32_t>& slot, std::vector<float>& weight);
  double total() const { return sum_[1]; }

 private:
  const size_t capacity_, width_;  // leaves in use, leaves
  const double alpha_, epsilon_;
  std::vector<double> sum_, least_;  // [2 · width]; the root is 1
  learner::SplitMix64 random_{1};
};

}  // namespace vixen::bench
