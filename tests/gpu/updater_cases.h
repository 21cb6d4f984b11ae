// SPDX-License-Identifier: Apache-2.0
// Networks, rows and options that the tests of the updaters share.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "learner/device/device_updater.h"

namespace vixen::learner {

inline constexpr uint64_t kBars = 5000;

struct Case {
  ReplayOptions replay{.capacity = 20'000, .seed = 7};
  TrainerOptions trainer;
  DeviceUpdaterOptions device{.precision = DevicePrecision::kFp32};
};

inline Case SmallCase() {
  Case small;
  small.trainer.architecture = {.features = 7,
                                .hidden1 = 48,
                                .hidden2 = 32,
                                .value_hidden = 16,
                                .advantage_hidden = 32,
                                .curiosity_hidden = 16};
  small.trainer.actions = {1, 19, 37, 44};
  small.trainer.batch_size = 100;
  small.trainer.max_gradient_norm = 0.05;  // small enough to clip
  small.trainer.polyak_tau = 0.1;
  return small;
}

inline Case DefaultCase() {
  Case all;
  for (uint8_t a = 0; a < kernels::kActions; ++a) all.trainer.actions.push_back(a);
  all.trainer.batch_size = 256;
  return all;
}

inline std::vector<float> Features(const TrainerOptions& trainer) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> features(kBars * trainer.architecture.features);
  for (float& x : features) x = normal(random);
  return features;
}

inline std::vector<ReplayRow> Rows(const TrainerOptions& trainer, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<ReplayRow> rows(count);
  for (ReplayRow& row : rows) {
    row.bar = static_cast<uint32_t>(random() % (kBars - 2));
    row.bootstrap_bar = row.bar + 1;
    for (int k = 0; k < kernels::kPortfolioFeatures; ++k) {
      row.portfolio[k] = normal(random);
      row.next_portfolio[k] = normal(random);
      row.bootstrap_portfolio[k] = normal(random);
    }
    row.reward = 2 * normal(random);
    row.discount = random() % 4 == 0 ? 0.0f : 0.95f;
    row.td = std::abs(normal(random));
    row.action = trainer.actions[random() % trainer.actions.size()];
  }
  return rows;
}

}  // namespace vixen::learner
