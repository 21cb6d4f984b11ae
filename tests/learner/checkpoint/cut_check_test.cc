// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/cut_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "learner/checkpoint/checkpoint_files.h"
#include "tests/learner/checkpoint/example_cut.h"

namespace vixen::learner {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float k2To53 = 0x1p53f;

class CutCheckTest : public ::testing::Test {
 protected:
  CutCheckTest() {
    for (RowColumns* rows : {&cut.replay.rows, &cut.window_rows}) {
      rows->discount.assign(rows->discount.size(), 0.99f);
    }
  }
  void ExpectRefused(const std::string& where) {
    const absl::Status status = CheckCut(cut, plan.bars);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << where;
    EXPECT_THAT(status.message(), HasSubstr(where));
  }

  const Plan plan = ExamplePlan();
  LearnerCut cut = ExampleCut(plan);
};

TEST_F(CutCheckTest, WhatALearnerWroteIsFitToGoOnFrom) {
  EXPECT_TRUE(CheckCut(cut, plan.bars).ok()) << CheckCut(cut, plan.bars);
}

TEST_F(CutCheckTest, RowsOutsideTheDatasetAreRefused) {
  cut.replay.rows.bar[3] = static_cast<uint32_t>(plan.bars) - 1;  // its next state would be outside
  ExpectRefused("row 3: bar 999");
  cut.replay.rows.bar[3] = 0;
  cut.replay.rows.bootstrap_bar[5] = static_cast<uint32_t>(plan.bars);
  ExpectRefused("row 5");
  cut.replay.rows.bootstrap_bar[5] = 0;
  cut.window_rows.bar[1] = std::numeric_limits<uint32_t>::max();
  ExpectRefused("window 1: bar 4294967295");
}

TEST_F(CutCheckTest, ValuesThatNoRowHasAreRefused) {
  cut.replay.rows.action[7] = kernels::kActions;
  ExpectRefused("row 7: action is 45");
  cut.replay.rows.action[7] = 0;
  cut.replay.rows.reward[8] = kInfinity;
  ExpectRefused("row 8");
  cut.replay.rows.reward[8] = 0;
  cut.replay.rows.td[9] = -1;
  ExpectRefused("row 9");
  cut.replay.rows.td[9] = 0;
  cut.replay.rows.discount[10] = std::nanf("");
  ExpectRefused("row 10");
  cut.replay.rows.discount[10] = 0;
  cut.replay.rows.next_portfolio[11 * 3 + 2] = std::nanf("");
  ExpectRefused("row 11");
}

TEST_F(CutCheckTest, MomentsAndStepsThatNoOptimizerHasAreRefused) {
  for (OptimizerCut* optimizer : {&cut.trainer.optimizer, &cut.curiosity->optimizer}) {
    const std::string of = optimizer == &cut.trainer.optimizer ? "the network" : "curiosity";
    for (const float steps :
         {-1.0f, 0.5f, std::nextafter(k2To53, kInfinity), 0x1p64f, kInfinity, std::nanf("")}) {
      optimizer->steps = steps;
      ExpectRefused("optimizer of " + of + ": steps are ");
    }
    optimizer->steps = k2To53;
    EXPECT_TRUE(CheckCut(cut, plan.bars).ok()) << of;
    optimizer->steps = 0;
    optimizer->second.values[3] = -1e-9f;
    ExpectRefused("optimizer of " + of + ": second moment 3 is -1e-09");
    optimizer->second.values[3] = 0;
    EXPECT_TRUE(CheckCut(cut, plan.bars).ok());
  }
}

TEST_F(CutCheckTest, WindowsOfNoRunAndMoreSlotsThanThereCanBeAreRefused) {
  cut.window_run[1] = 1;
  ExpectRefused("window 1: run 1 of 1");
  cut.window_run[1] = 0;
  cut.head.mutable_runs(0)->set_slots(std::numeric_limits<uint32_t>::max());
  ExpectRefused("run 0: slots are 4294967295");
}

TEST_F(CutCheckTest, SequencesThatTouchOrGoBackwardsAreRefused) {
  v1::SequenceRange& range = *cut.head.mutable_runs(0)->add_sequences();
  range.set_first(3);
  range.set_last(2);
  ExpectRefused("run 0: sequences 3 to 2");
  range.set_last(5);
  v1::SequenceRange& next = *cut.head.mutable_runs(0)->add_sequences();
  next.set_first(6);
  next.set_last(6);
  ExpectRefused("run 0: sequences 6 to 6");
  next.set_first(7);
  next.set_last(7);
  EXPECT_TRUE(CheckCut(cut, plan.bars).ok());
  *cut.head.add_runs() = cut.head.runs(0);
  ExpectRefused("run 1: run id 7 is there twice");
}

// A length of 2^64 − 1 is −1 as a tensor's, which stands for any length.
TEST_F(CutCheckTest, MoreRowsThanALengthCanSayAreRefused) {
  base::TensorFileWriter writer;
  cut.replay.rows.AddTo(writer);
  const std::string bytes = writer.Serialize().value();
  const auto file = base::TensorFile::Parse(std::as_bytes(std::span<const char>(bytes)), "replay");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(RowColumns::Read(*file, std::numeric_limits<size_t>::max()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(RowColumns::Read(*file, cut.replay.rows.rows).ok());
}

}  // namespace
}  // namespace vixen::learner
