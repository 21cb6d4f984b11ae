// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/file.h"
#include "proto/config/command_line.h"
#include "tests/scratch_folder.h"
#include "tool/command.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  absl::Status status;
  std::string printed;
};

Outcome RunConfig(std::vector<std::string> arguments) {
  CLI::App app("test", "vixen");
  Selected selected;
  AddConfig(app, selected);
  arguments.insert(arguments.begin(), "config");
  Outcome outcome;
  outcome.status = config::ParseArguments(app, std::move(arguments), outcome.printed);
  if (!outcome.status.ok() || !outcome.printed.empty()) return outcome;
  ::testing::internal::CaptureStdout();
  outcome.status = selected();
  outcome.printed = ::testing::internal::GetCapturedStdout();
  return outcome;
}

std::string FaultOf(std::vector<std::string> arguments) {
  const Outcome outcome = RunConfig(std::move(arguments));
  EXPECT_EQ(base::ExitCodeOf(outcome.status), base::kExitUsage) << outcome.status;
  return std::string(outcome.status.message());
}

TEST(ConfigPrint, PrintsTheActorsUnlessAskedForTheLearners) {
  EXPECT_THAT(RunConfig({"print"}).printed, HasSubstr("listen: \"127.0.0.1:50051\""));
  EXPECT_EQ(RunConfig({"print", "--actor"}).printed, RunConfig({"print"}).printed);
  EXPECT_THAT(RunConfig({"print", "--learner"}).printed, HasSubstr("batch_size: 128"));
}

TEST(ConfigPrint, PutsFileAndFlagsTogether) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(
      base::WriteFileAtomically(scratch.File("a"), "environment { steps: 5 episodes: 6 }").ok());
  const std::string text = RunConfig({"print", "--config", scratch.File("a"), "--steps=7"}).printed;
  EXPECT_THAT(text, HasSubstr("  steps: 7\n"));
  EXPECT_THAT(text, HasSubstr("  episodes: 6\n"));
}

TEST(ConfigPrint, WhatItPrintsIsWhatItReads) {
  testing::ScratchFolder scratch;
  for (const char* which : {"--actor", "--learner"}) {
    const std::string text = RunConfig({"print", which, "--comments"}).printed;
    ASSERT_TRUE(base::WriteFileAtomically(scratch.File("c"), text).ok());
    EXPECT_EQ(RunConfig({"print", which, "--comments", "--config", scratch.File("c")}).printed,
              text);
    EXPECT_TRUE(RunConfig({"check", scratch.File("c")}).status.ok());
  }
}

TEST(ConfigPrint, TakesActorAsASettingOfTheLearner) {
  EXPECT_THAT(RunConfig({"print", "--learner", "--actor", "127.0.0.1:5"}).printed,
              HasSubstr("actor: [\"127.0.0.1:5\"]"));
}

TEST(ConfigPrint, HelpShowsTheSettingsOfWhatIsPrinted) {
  EXPECT_THAT(RunConfig({"print", "--help"}).printed, HasSubstr("--retain_batches"));
  EXPECT_THAT(RunConfig({"print", "--learner", "--help"}).printed, HasSubstr("--batch_size"));
}

TEST(ConfigPrint, NamesAnUnknownFlagAndABadValue) {
  EXPECT_THAT(FaultOf({"print", "--stesp=3"}),
              HasSubstr("unknown flag --stesp; did you mean --steps?"));
  EXPECT_EQ(FaultOf({"print", "--steps=0"}), "--steps: steps is 0, allowed: 1 … 65536");
}

class ConfigCheckFile : public ::testing::Test {
 protected:
  std::string File(const std::string& text) {
    EXPECT_TRUE(base::WriteFileAtomically(scratch_.File("c.textproto"), text).ok());
    return scratch_.File("c.textproto");
  }
  testing::ScratchFolder scratch_;
};

TEST_F(ConfigCheckFile, FindsOutWhoseConfigurationItIs) {
  EXPECT_THAT(RunConfig({"check", File("environment { steps: 5 }")}).printed,
              HasSubstr("a working ActorConfig"));
  EXPECT_THAT(RunConfig({"check", File("trainer { batch_size: 5 }")}).printed,
              HasSubstr("a working LearnerConfig"));
}

TEST_F(ConfigCheckFile, PrintsALineForEachFault) {
  const std::string file =
      File("environment {\n  steps: 0\n  carry_over: true\n  recycle: false\n}\n");
  const Outcome outcome = RunConfig({"check", file});
  EXPECT_EQ(base::ExitCodeOf(outcome.status), base::kExitUsage);
  EXPECT_THAT(outcome.printed, StartsWith(file + ":2:3: steps is 0, allowed: 1 … 65536\n"));
  EXPECT_THAT(outcome.printed, HasSubstr(file + ":3:3: carry_over is true with recycle false"));
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("(and 1 more)"));
}

TEST_F(ConfigCheckFile, NamesTheLineOfAnUnknownSetting) {
  const std::string file = File("environment {\n  stepz: 0\n}\n");
  EXPECT_EQ(FaultOf({"check", "--actor", file}),
            file + ":2:3: unknown setting \"stepz\" in EnvironmentSettings; did you mean steps?");
  EXPECT_THAT(FaultOf({"check", file}), HasSubstr(":2:3: unknown setting \"stepz\""));
  EXPECT_THAT(FaultOf({"check", "--learner", file}),
              HasSubstr("unknown setting \"environment\" in LearnerConfig"));
}

TEST_F(ConfigCheckFile, NamesAMissingFileOnce) {
  const std::string fault = FaultOf({"check", scratch_.File("none")});
  EXPECT_THAT(fault, HasSubstr(scratch_.File("none") + ": No such file"));
  EXPECT_THAT(fault, Not(HasSubstr("neither")));
}

TEST_F(ConfigCheckFile, WantsOneOfActorAndLearner) {
  EXPECT_THAT(FaultOf({"check", "--actor", "--learner", "f"}), HasSubstr("excludes"));
}

}  // namespace
}  // namespace vixen::tool
