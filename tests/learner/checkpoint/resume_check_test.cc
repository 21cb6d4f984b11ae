// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/resume_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/learner/checkpoint/example_cut.h"

namespace vixen::learner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResumeCheckTest : public ::testing::Test {
 protected:
  // Refused, with both values.
  void ExpectRefused(const std::string& what, const std::string& before, const std::string& now) {
    const absl::Status status = CheckResume(head, "out/checkpoint-000001", plan).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << what;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("out/checkpoint-000001"), HasSubstr(what + " " + before),
                      HasSubstr("this run has " + now)));
    plan = ExamplePlan();
  }

  Plan plan = ExamplePlan();
  const v1::Checkpoint head = ExampleCut(plan).head;
};

TEST_F(ResumeCheckTest, TheSameWorkGoesOn) {
  const auto changed = CheckResume(head, "c", plan);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_THAT(*changed, IsEmpty());
}

TEST_F(ResumeCheckTest, WhatMayChangeIsTold) {
  plan.config.mutable_trainer()->set_learning_rate(0.001);
  plan.config.set_resume(v1::RESUME_LAST);
  const auto changed = CheckResume(head, "c", plan);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_THAT(*changed, ElementsAre("learning_rate 0.0005 → 0.001"));
}

TEST_F(ResumeCheckTest, OtherWorkIsRefusedWithBothValues) {
  plan.architecture.hidden2 = 32;
  ExpectRefused("architecture", ExampleArchitecture().Describe(), "2+3-16-32/16,16 curiosity 16");
  plan.dataset_fingerprint = std::string(32, 'e');
  ExpectRefused("dataset fingerprint", "6464", "6565");
}

TEST_F(ResumeCheckTest, OtherMeaningOfTheRowsIsRefusedWithBothValues) {
  plan.config.mutable_replay()->set_capacity(77);
  ExpectRefused("capacity", "1000000", "77");
  plan.config.mutable_replay()->set_n_step(5);
  ExpectRefused("n_step", "1", "5");
  plan.config.set_consumer("you");
  ExpectRefused("consumer", "\"me\"", "\"you\"");
  plan.config.mutable_trainer()->set_optimizer(v1::TrainerSettings::ADAMW);
  ExpectRefused("optimizer", "ADAM", "ADAMW");
  v1::EnvironmentSettings settings =
      *config::ParseSettingsBytes(plan.environment_bytes, "settings");
  settings.set_pnl_scale(3);
  plan.environment_bytes = config::SettingsBytes(settings);
  ExpectRefused("the actor's pnl_scale", "1", "3");
}

}  // namespace
}  // namespace vixen::learner
