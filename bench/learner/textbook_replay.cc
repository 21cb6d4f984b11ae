// SPDX-License-Identifier: Apache-2.0
#include "bench/learner/textbook_replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace vixen::bench {

TextbookReplay::TextbookReplay(size_t capacity, double alpha, double epsilon)
    : capacity_(capacity),
      width_(std::bit_ceil(capacity)),
      alpha_(alpha),
      epsilon_(epsilon),
      sum_(2 * width_, 0.0),
      least_(2 * width_, std::numeric_limits<double>::infinity()) {}

void TextbookReplay::Set(uint32_t slot, float td) {
  size_t node = width_ + slot;
  sum_[node] = least_[node] = std::pow(static_cast<double>(td) + epsilon_, alpha_);
  while ((node /= 2) > 0) {
    sum_[node] = sum_[2 * node] + sum_[2 * node + 1];
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]);
  }
}

void TextbookReplay::Draw(size_t count, double beta, std::vector<uint32_t>& slot,
                          std::vector<float>& weight) {
  slot.resize(count);
  weight.resize(count);
  const auto rows = static_cast<double>(capacity_);
  const double most = std::pow(rows * least_[1] / total(), -beta);
  for (size_t i = 0; i < count; ++i) {
    double mass =
        (static_cast<double>(i) + random_.Uniform()) * total() / static_cast<double>(count);
    size_t node = 1;
    while (node < width_) {
      node *= 2;
      if (mass >= sum_[node] && sum_[node + 1] > 0) mass -= sum_[node++];
    }
    slot[i] = static_cast<uint32_t>(node - width_);
    weight[i] = static_cast<float>(std::pow(rows * sum_[node] / total(), -beta) / most);
  }
}

}  // namespace vixen::bench
