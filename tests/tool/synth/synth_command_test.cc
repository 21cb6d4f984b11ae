// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "market/dataset.h"
#include "tool/command.h"

namespace vixen::tool {
namespace {

// What the command line would run.
absl::Status RunCommand(const std::vector<std::string>& arguments) {
  CLI::App app;
  Selected selected;
  AddSynth(app, selected);
  AddScore(app, selected);
  std::vector<const char*> argv = {"vixen"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  app.parse(static_cast<int>(argv.size()), argv.data());
  return selected();
}

class SynthCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("synth_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string out_ = folder_ / "bed.safetensors";
};

TEST_F(SynthCommand, WritesADatasetAndPrintsTheActorsConfiguration) {
  testing::internal::CaptureStdout();
  const absl::Status status =
      RunCommand({"synth", "b2", "--out", out_, "--seed", "3", "--bars", "500", "--cost", "0.1"});
  const std::string printed = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(printed, testing::HasSubstr("# best policy: 0.06403 a step at cost 0.1"));
  EXPECT_THAT(printed, testing::HasSubstr("\nenvironment {\nepisodes: 64\n"));
  EXPECT_THAT(printed, testing::EndsWith("double_dqn: true\n}\n"));
  const auto dataset = market::Dataset::Load(out_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->bars(), 500u);
  EXPECT_EQ((*dataset)->metadata().at("bed"), "b2");
}

TEST_F(SynthCommand, AnUnknownBedIsAUsageErrorAndLeavesNoFile) {
  for (const char* name : {"b6", "b8", "brownian"}) {
    const absl::Status status = RunCommand({"synth", name, "--out", out_, "--seed", "3"});
    EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage);
    EXPECT_THAT(status.message(), testing::HasSubstr(name));
    EXPECT_THAT(status.message(), testing::HasSubstr("b0, b1, b2"));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

TEST_F(SynthCommand, AnImpossibleCostIsAUsageError) {
  const absl::Status status =
      RunCommand({"synth", "b2", "--out", out_, "--seed", "3", "--cost", "0"});
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr("--cost = 0"));
}

TEST_F(SynthCommand, ScoringWithoutAWeightsFileFailsAndNamesIt) {
  const absl::Status status =
      RunCommand({"score", "b2", "--weights", (folder_ / "none.safetensors").string()});
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitFailed);
  EXPECT_THAT(status.message(), testing::HasSubstr("none.safetensors"));
}

TEST_F(SynthCommand, ScoringNoEpisodeIsAUsageError) {
  const absl::Status status = RunCommand({"score", "b2", "--weights", "w", "--episodes", "0"});
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr("--episodes = 0"));
}

}  // namespace
}  // namespace vixen::tool
