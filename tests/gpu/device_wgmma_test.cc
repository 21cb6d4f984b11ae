// SPDX-License-Identifier: Apache-2.0
// The passes by wgmma beside those of the CPU and by mma.sync.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "tests/gpu/device_updater_fixture.h"

namespace vixen::learner {
namespace {

// The case by wgmma, whatever the size of its minibatch.
Case ByWgmma(Case c) {
  c.device.precision = DevicePrecision::kTf32;
  c.device.algorithm = PassAlgorithm::kWgmma;
  return c;
}

class DeviceWgmmaTest : public DeviceUpdaterTest {
 protected:
  void SetUp() override {
    DeviceUpdaterTest::SetUp();
    if (IsSkipped()) return;
    if (kernels::QueryCudaDevice(0)->capability() != 90) GTEST_SKIP() << "sm_90a alone has wgmma";
  }

  // One update by mma.sync and one by wgmma from the same rows: the same operands, only the order
  // of the sums differs, and what it rounds otherwise. Row by row, and in every parameter.
  static void ExpectWgmmaAsMma(Case c) {
    const std::vector<float> features = Features(c.trainer);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
    struct Made {
      std::unique_ptr<Updater> updater;
      UpdateStatistics statistics;
      std::vector<float> abs_td, taken_q;
    };
    std::vector<Made> made;
    for (const PassAlgorithm algorithm : {PassAlgorithm::kMma, PassAlgorithm::kWgmma}) {
      c.device.precision = DevicePrecision::kTf32;
      c.device.algorithm = algorithm;
      auto updater = Device(c, features);
      ASSERT_TRUE(updater->Insert(rows).ok());
      auto update = updater->Update(1, 0);
      ASSERT_TRUE(update.ok()) << update.status();
      made.push_back({std::move(updater),
                      update->statistics[0],
                      {update->abs_td.begin(), update->abs_td.end()},
                      {update->taken_q.begin(), update->taken_q.end()}});
    }
    const UpdateStatistics &mma = made[0].statistics, &wgmma = made[1].statistics;
    EXPECT_NEAR(wgmma.loss, mma.loss, 1e-4 * mma.loss);
    EXPECT_NEAR(wgmma.mean_q, mma.mean_q, 1e-5);
    EXPECT_NEAR(wgmma.max_q, mma.max_q, 1e-3);
    EXPECT_NEAR(wgmma.gradient_norm, mma.gradient_norm, 1e-3 * mma.gradient_norm);
    double td = 0, q = 0;
    for (size_t i = 0; i < c.trainer.batch_size; ++i) {
      td = std::max<double>(td, std::abs(made[0].abs_td[i] - made[1].abs_td[i]));
      q = std::max<double>(q, std::abs(made[0].taken_q[i] - made[1].taken_q[i]));
    }
    EXPECT_LT(td, 1e-5) << "a row's |td|";
    EXPECT_LT(q, 1e-5) << "a row's Q";
    const Parameters start = Weights(c, WeightsKind::kOnline);
    const double error = StepError(*made[1].updater->Export(WeightsKind::kOnline),
                                   *made[0].updater->Export(WeightsKind::kOnline), start);
    EXPECT_LT(error, 1e-4) << "of the step";
    std::printf("    td %.1e q %.1e step %.1e\n", td, q, error);
  }
};

TEST_F(DeviceWgmmaTest, UpdatesWithinTheRoundingOfTf32) {
  std::vector<Case> cases(7, ByWgmma(DefaultCase()));
  cases[0].trainer.batch_size = 8192;    // 192 rows a block forward, 64 backward
  cases[1].trainer.batch_size = 5000;    // a last block that is not full
  cases[2].trainer.batch_size = 16'384;  // 128 rows a block backward
  cases[3].trainer.batch_size = 100;
  cases[4].trainer.double_dqn = false;
  cases[5] = ByWgmma(SmallCase());
  cases[6] = ByWgmma(SmallCase());
  cases[6].trainer.architecture.hidden1 = 208;
  cases[6].trainer.architecture.hidden2 = 144;
  cases[6].trainer.architecture.value_hidden = 48;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.trainer.batch_size);
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 19'000, 1);
    ASSERT_TRUE(host->Insert(rows).ok());
    ASSERT_TRUE(device->Insert(rows).ok());
    ExpectSameUpdates(c, *host, *device, 1, 0.01, 0.2);
  }
}

TEST_F(DeviceWgmmaTest, RoundsAsMmaDoes) {
  for (const uint32_t batch : {1024u, 3000u}) {
    Case c = DefaultCase();
    c.trainer.batch_size = batch;
    c.trainer.max_gradient_norm = 0;
    ExpectWgmmaAsMma(c);
  }
}

// Which quarters of a block's inputs the layers read and overwrite differs in each.
TEST_F(DeviceWgmmaTest, TakesEveryWidthUpTo256) {
  struct Widths {
    uint32_t features, hidden1, hidden2, value, advantage;
  };
  for (const Widths& w :
       {Widths{133, 256, 64, 64, 64}, Widths{51, 128, 256, 32, 32}, Widths{250, 64, 64, 16, 16},
        Widths{7, 16, 16, 16, 16}, Widths{61, 256, 256, 128, 128}, Widths{125, 64, 256, 64, 128},
        Widths{51, 256, 128, 16, 32}, Widths{200, 16, 256, 16, 240}}) {
    // Blocks of 64, 128 and 192 rows; backward of 192 at the last.
    for (const uint32_t batch : {200u, 9000u, 12'000u, 20'000u}) {
      for (const bool double_dqn : {true, false}) {
        SCOPED_TRACE(testing::Message()
                     << w.features << ", " << w.hidden1 << ", " << w.hidden2 << ", " << w.value
                     << ", " << w.advantage << ", " << batch << ", " << double_dqn);
        Case c = DefaultCase();
        c.trainer.architecture = {.features = w.features,
                                  .hidden1 = w.hidden1,
                                  .hidden2 = w.hidden2,
                                  .value_hidden = w.value,
                                  .advantage_hidden = w.advantage};
        c.trainer.batch_size = batch;
        c.trainer.double_dqn = double_dqn;
        c.trainer.max_gradient_norm = 0;
        ExpectWgmmaAsMma(c);
      }
    }
  }
}

}  // namespace
}  // namespace vixen::learner
