// SPDX-License-Identifier: Apache-2.0
#include "learner/weights/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "learner/trainer/initial_weights.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;
using testing::HasSubstr;

class PolicyFileTest : public testing::Test {
 protected:
  PolicyFileTest() {
    architecture_ = {.features = 5,
                     .hidden1 = 16,
                     .hidden2 = 16,
                     .value_hidden = 16,
                     .advantage_hidden = 16,
                     .curiosity_hidden = 16};
    file_.weights.online = InitialWeights(architecture_, WeightsKind::kOnline, 1);
    file_.weights.target = InitialWeights(architecture_, WeightsKind::kTarget, 2);
    file_.weights.curiosity = InitialWeights(architecture_, WeightsKind::kCuriosity, 3);
    file_.weights.online_version = (uint64_t{1} << 53) + 1;
    file_.policy = "default";
    file_.updates = 12;
    file_.transitions = 345;
    file_.scaler_fingerprint = std::string(32, 'x');
    path_ = testing::TempDir() + "policy_file_test_" + std::to_string(getpid()) + ".safetensors";
  }
  ~PolicyFileTest() override { std::remove(path_.c_str()); }

  absl::Status ReadStatus(const std::string& policy, const kernels::Architecture& architecture,
                          const std::string& scaler) {
    return ReadPolicyFile(path_, policy, architecture, scaler).status();
  }

  kernels::Architecture architecture_;
  PolicyFile file_;
  std::string path_;
};

TEST_F(PolicyFileTest, ReadsBackWhatItWrote) {
  ASSERT_TRUE(WritePolicyFile(path_, file_).ok());
  const auto read = ReadPolicyFile(path_, "default", architecture_, file_.scaler_fingerprint);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->weights.online.values, file_.weights.online.values);
  EXPECT_EQ((*read)->weights.target.values, file_.weights.target.values);
  EXPECT_EQ((*read)->weights.curiosity.values, file_.weights.curiosity.values);
  EXPECT_EQ((*read)->weights.online_version, file_.weights.online_version);
  EXPECT_EQ((*read)->updates, 12u);
  EXPECT_EQ((*read)->transitions, 345u);
}

TEST_F(PolicyFileTest, ReadsBackWithoutCuriosity) {
  file_.weights.curiosity = {};
  ASSERT_TRUE(WritePolicyFile(path_, file_).ok());
  const auto read = ReadPolicyFile(path_, "default", architecture_, file_.scaler_fingerprint);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE((*read)->weights.curiosity.values.empty());
}

TEST_F(PolicyFileTest, IsNothingWhereThereIsNoFile) {
  const auto read = ReadPolicyFile(path_, "default", architecture_, file_.scaler_fingerprint);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST_F(PolicyFileTest, RefusesWhatBelongsToOtherWorkAndNamesBoth) {
  ASSERT_TRUE(WritePolicyFile(path_, file_).ok());
  absl::Status status = ReadStatus("other", architecture_, file_.scaler_fingerprint);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("policy other, the file has default"));

  kernels::Architecture wide = architecture_;
  wide.hidden1 = 32;
  status = ReadStatus("default", wide, file_.scaler_fingerprint);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("architecture"));

  status = ReadStatus("default", architecture_, std::string(32, 'y'));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("scaler fingerprint 7979"));
}

}  // namespace
}  // namespace vixen::learner
