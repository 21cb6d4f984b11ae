// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/td_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace vixen::learner {
namespace {

// One row, three actions.
struct Row {
  std::vector<float> q = {0, 5, 1}, choose = {1, 2, 3}, next = {7, 20, 10};
  std::vector<uint32_t> action = {1};
  std::vector<float> reward = {2}, discount = {0.5f}, weight = {1};
  double huber_delta = 1;
  std::vector<float> gradient = std::vector<float>(3), td = std::vector<float>(1);

  UpdateStatistics Run() {
    return ComputeTdLoss({.rows = 1,
                          .actions = 3,
                          .q = q,
                          .choose = choose,
                          .next = next,
                          .action = action,
                          .reward = reward,
                          .discount = discount,
                          .weight = weight,
                          .huber_delta = huber_delta},
                         gradient, td);
  }
};

TEST(TdLoss, TakesTheTargetsValueOfTheActionThatTheChooserPrefers) {
  Row row;
  const UpdateStatistics statistics = row.Run();
  EXPECT_EQ(row.td[0], 2.0f);  // |5 − (2 + 0.5·10)|
  EXPECT_EQ(statistics.loss, 1.5);
  EXPECT_EQ(row.gradient, (std::vector<float>{0, -1, 0}));
  EXPECT_EQ(statistics.max_q, 5.0);
  EXPECT_EQ(statistics.mean_q, 2.0);
}

TEST(TdLoss, PrefersTheLowestIndexAmongEquals) {
  Row row;
  row.choose = {3, 3, 3};
  row.Run();
  EXPECT_EQ(row.td[0], 0.5f);  // |5 − (2 + 0.5·7)|
}

TEST(TdLoss, SelectsTheRewardWhereTheWindowEndedTerminal) {
  Row row;
  row.discount = {0};
  row.next = std::vector<float>(3, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(row.Run().loss, 2.5);
  EXPECT_EQ(row.td[0], 3.0f);
}

TEST(TdLoss, IsQuadraticInsideTheHuberLimitAndWeighsByImportance) {
  Row row;
  row.huber_delta = 4;
  row.weight = {0.25f};
  EXPECT_EQ(row.Run().loss, 0.25 * 0.5 * 4);
  EXPECT_EQ(row.gradient[1], -0.5f);
}

TEST(TdLoss, GivesTheTakenActionsValueAndTheShareBeyondTheHuberLimit) {
  Row row;
  std::vector<float> taken(1);
  const auto run = [&] {
    return ComputeTdLoss({.rows = 1,
                          .actions = 3,
                          .q = row.q,
                          .choose = row.choose,
                          .next = row.next,
                          .action = row.action,
                          .reward = row.reward,
                          .discount = row.discount,
                          .weight = row.weight,
                          .huber_delta = row.huber_delta},
                         row.gradient, row.td, taken);
  };
  EXPECT_EQ(run().clipped_rows, 1.0);  // |td| 2 beyond 1
  EXPECT_EQ(taken[0], 5.0f);
  row.huber_delta = 2;
  EXPECT_EQ(run().clipped_rows, 0.0);
}

TEST(TdLoss, LetsNotANumberThrough) {
  Row row;
  row.q[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(row.Run().loss));
}

}  // namespace
}  // namespace vixen::learner
