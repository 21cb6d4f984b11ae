// SPDX-License-Identifier: Apache-2.0
// Replay and trainer on the GPU beside those on the CPU. Skipped where there is no GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/device.h"
#include "learner/curiosity/curiosity_trainer.h"
#include "learner/device/device_updater.h"
#include "learner/trainer/host_updater.h"
#include "learner/trainer/initial_weights.h"
#include "tests/gpu/updater_cases.h"

namespace vixen::learner {

using kernels::Parameters;
using kernels::WeightsKind;

class DeviceUpdaterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CheckDeviceUpdater(0).ok()) GTEST_SKIP() << CheckDeviceUpdater(0);
  }

  static std::unique_ptr<Updater> Host(const Case& c, std::span<const float> features) {
    auto made = MakeHostUpdater(c.replay, c.trainer, features, Weights(c, WeightsKind::kOnline),
                                Weights(c, WeightsKind::kTarget));
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }
  static std::unique_ptr<Updater> Device(const Case& c, std::span<const float> features) {
    auto made =
        MakeDeviceUpdater(c.device, c.replay, c.trainer, features, Weights(c, WeightsKind::kOnline),
                          Weights(c, WeightsKind::kTarget));
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }
  static Parameters Weights(const Case& c, WeightsKind kind) {
    return InitialWeights(c.trainer.architecture, kind, kind == WeightsKind::kOnline ? 3 : 4);
  }
};

inline double LargestDifference(const Parameters& a, const Parameters& b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max<double>(largest, std::abs(a.values[i] - b.values[i]));
  }
  return largest;
}

// ‖a − b‖ / ‖b − start‖: how wrong the step itself is.
inline double StepError(const Parameters& a, const Parameters& b, const Parameters& start) {
  double error = 0, step = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    error += std::pow(double{a.values[i]} - b.values[i], 2);
    step += std::pow(double{b.values[i]} - start.values[i], 2);
  }
  return std::sqrt(error / step);
}

inline void ExpectSameUpdates(const Case& c, Updater& host, Updater& device, int updates,
                              double loss_tolerance, double step_tolerance) {
  for (int i = 0; i < updates; ++i) {
    auto ours = device.Update(1, 0);
    auto theirs = host.Update(1, 0);
    ASSERT_TRUE(ours.ok()) << ours.status();
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    const UpdateStatistics &a = ours->statistics[0], &b = theirs->statistics[0];
    EXPECT_NEAR(a.loss, b.loss, loss_tolerance * std::abs(b.loss)) << i;
    EXPECT_NEAR(a.mean_abs_td, b.mean_abs_td, loss_tolerance * b.mean_abs_td) << i;
    EXPECT_NEAR(a.mean_q, b.mean_q, loss_tolerance) << i;
    EXPECT_NEAR(a.max_q, b.max_q, loss_tolerance) << i;
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 10 * loss_tolerance * b.gradient_norm) << i;
    EXPECT_NEAR(ours->effective_samples, theirs->effective_samples, 1e-3) << i;
    size_t same = 0;
    for (size_t k = 0; k < c.trainer.batch_size; ++k) {
      same += ours->sample->slot[k] == theirs->sample->slot[k] ? 1 : 0;
    }
    EXPECT_GE(same, c.trainer.batch_size - 2 - c.trainer.batch_size / 1000)
        << "rows drawn alike, update " << i;
    EXPECT_EQ(ours->priorities.stale, 0u);
  }
  const WeightsKind online = WeightsKind::kOnline, target = WeightsKind::kTarget;
  const Parameters start = InitialWeights(c.trainer.architecture, online, 3);
  const double error = StepError(*device.Export(online), *host.Export(online), start);
  EXPECT_LT(error, step_tolerance);
  EXPECT_LT(LargestDifference(*device.Export(target), *host.Export(target)),
            1e-4 + step_tolerance * 1e-2);
  std::printf("    step error %.2e\n", error);
}

inline std::vector<float> Everything(Updater& updater) {
  std::vector<float> all;
  for (const WeightsKind kind : {WeightsKind::kOnline, WeightsKind::kTarget}) {
    const Parameters parameters = *updater.Export(kind);
    all.insert(all.end(), parameters.values.begin(), parameters.values.end());
  }
  ReplayCut cut;
  EXPECT_TRUE(updater.SaveReplay(cut).ok());
  if (updater.curiosity() != nullptr) {
    const Parameters parameters = *updater.curiosity()->Export();
    all.insert(all.end(), parameters.values.begin(), parameters.values.end());
  }
  all.insert(all.end(), cut.leaves.begin(), cut.leaves.end());
  return all;
}

inline Case CuriousCase(Case c, uint32_t period) {
  c.device.curiosity = {
      .period = period,
      .learning_rate = 1e-3,
      .weights = InitialWeights(c.trainer.architecture, WeightsKind::kCuriosity, 5)};
  return c;
}

}  // namespace vixen::learner
