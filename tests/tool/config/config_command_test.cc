// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/file.h"
#include "market/dataset.h"
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

TEST_F(ConfigCheckFile, SaysOneErrorWhereItIsClearWhoseFileItIs) {
  const std::string actors = File("environment {\n  stepz: 5\n}\n");
  EXPECT_EQ(FaultOf({"check", actors}),
            actors + ":2:3: unknown setting \"stepz\" in EnvironmentSettings; did you mean steps?");
  const std::string learners = File("trainer {\n  batch_siz: 5\n}\n");
  EXPECT_THAT(FaultOf({"check", learners}), StartsWith(learners + ":2:3: unknown setting"));
  const std::string misspelt = File("enviroment { steps: 5 }\n");
  EXPECT_THAT(FaultOf({"check", misspelt}), StartsWith(misspelt + ":1:1: "));
  EXPECT_THAT(FaultOf({"check", misspelt}), HasSubstr("did you mean environment?"));
  EXPECT_THAT(FaultOf({"check", File("steps: 5")}), HasSubstr("belongs in environment { steps: "));
  EXPECT_THAT(FaultOf({"check", File("qqqqqqqq: 5")}), HasSubstr("--actor or --learner says"));
}

TEST_F(ConfigCheckFile, NamesTheSettingOfAValueThatDoesNotParse) {
  const auto fault = [&](const std::string& inside) {
    const std::string file = File("environment {\n  " + inside + "\n}\n");
    const std::string text = FaultOf({"check", file});
    EXPECT_THAT(text, StartsWith(file + ":2:"));
    return text.substr(file.size());
  };
  EXPECT_EQ(fault("steps: -1"), ":2:10: value of steps: Expected integer, got: -");
  EXPECT_EQ(fault("steps: \"5\""), ":2:10: value of steps: Expected integer, got: \"5\"");
  EXPECT_EQ(fault("preset: RECOMENDED"),
            ":2:11: unknown value RECOMENDED of preset, expected SEED, RECOMMENDED; did you mean "
            "RECOMMENDED?");
  EXPECT_EQ(fault("steps: 5 steps: 6"), ":2:12: steps is set twice here; keep one");
}

TEST_F(ConfigCheckFile, NamesAMissingFileOnce) {
  const std::string fault = FaultOf({"check", scratch_.File("none")});
  EXPECT_THAT(fault, HasSubstr(scratch_.File("none") + ": No such file"));
  EXPECT_THAT(fault, Not(HasSubstr("neither")));
}

class ConfigCheckData : public ConfigCheckFile {
 protected:
  // A random walk whose bars move by about `move`, in segments of 1,000 bars.
  std::string Walk(double move) {
    constexpr uint32_t kBars = 4000;
    std::mt19937 generator(7);
    std::normal_distribution<double> normal(0.0, move);
    std::vector<float> close = {100.0f};
    for (uint32_t bar = 1; bar < kBars; ++bar) {
      close.push_back(close.back() * static_cast<float>(std::exp(normal(generator))));
    }
    market::Dataset::Parts parts;
    parts.feature_names = {"move"};
    for (uint32_t bar = 0; bar < kBars; ++bar) {
      const bool last = bar % 1000 == 999;
      const float next = last ? close[bar] : close[bar + 1];
      parts.features.push_back(std::log(next / close[bar]) / static_cast<float>(move));
      for (const float price : {close[bar], next, next, next}) parts.targets.push_back(price);
      parts.last.push_back(last ? 1 : 0);
      parts.timestamp.push_back(int64_t{60'000'000'000} * bar);
    }
    parts.scaler.mean = {0.0};
    parts.scaler.scale = {1.0};
    const auto dataset = market::Dataset::Create(std::move(parts));
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_TRUE((*dataset)->Write(scratch_.File("walk.safetensors")).ok());
    return scratch_.File("walk.safetensors");
  }
  std::string Check(const std::string& environment, const std::string& data) {
    const Outcome outcome =
        RunConfig({"check", File("environment { " + environment + " }"), "--data", data});
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    return outcome.printed;
  }
};

TEST_F(ConfigCheckData, PredictsTheShareOfEachRewardTerm) {
  const std::string printed = Check("preset: RECOMMENDED", Walk(0.001));
  for (const char* term : {"pnl", "barrier", "risk", "diversity", "curiosity"}) {
    EXPECT_THAT(printed, HasSubstr(term));
  }
  EXPECT_THAT(printed, HasSubstr("bars 0:4000 of 4,000"));
  EXPECT_THAT(printed, Not(HasSubstr("warning")));
}

TEST_F(ConfigCheckData, TheFactorThatItAdvisesMakesProfitTheLargestShare) {
  const std::string data = Walk(0.0005);
  const std::string quiet = "curiosity_max: 0 barrier_bonus: 0 ";
  const std::string before = Check(quiet, data);
  ASSERT_THAT(before, HasSubstr("or lower risk_scale"));
  double factor = 0;
  size_t at = 0;
  while ((at = before.find("pnl_scale above ", at)) != std::string::npos) {
    at += std::string("pnl_scale above ").size();
    factor = std::max(factor, std::stod(before.substr(at)));
  }
  ASSERT_GT(factor, 1.0) << before;
  EXPECT_THAT(Check(quiet + "pnl_scale: " + std::to_string(1.1 * factor), data),
              Not(HasSubstr("would be learned first")));
  EXPECT_THAT(Check(quiet + "pnl_scale: " + std::to_string(0.5 * factor), data),
              HasSubstr("would be learned first"));
}

TEST_F(ConfigCheckData, NamesACuriosityThatWouldDrownTheProfit) {
  EXPECT_THAT(Check("curiosity_max: 0.1", Walk(0.001)), HasSubstr("lower curiosity_max"));
}

TEST_F(ConfigCheckData, NamesBarriersThatAreNeverReachedOrReachedAtOnce) {
  const std::string data = Walk(0.001);
  EXPECT_THAT(Check("preset: RECOMMENDED profit_target_bps: 9000 stop_loss_bps: 9000", data),
              HasSubstr("profit_target_bps 9000 and stop_loss_bps 9000 were never reached"));
  EXPECT_THAT(Check("preset: RECOMMENDED profit_target_bps: 1 stop_loss_bps: 1", data),
              HasSubstr("single bars move further than profit_target_bps 1 or stop_loss_bps 1"));
}

TEST_F(ConfigCheckData, RefusesWhatItCannotJudge) {
  const std::string data = Walk(0.001);
  EXPECT_THAT(FaultOf({"check", File("trainer { batch_size: 5 }"), "--data", data}),
              HasSubstr("learner's configuration"));
  EXPECT_THAT(FaultOf({"check", File("environment { begin: 99999 }"), "--data", data}),
              HasSubstr("begin = 99999"));
  EXPECT_THAT(FaultOf({"check", File("environment { }"), "--data", scratch_.File("none")}),
              HasSubstr("No such file"));
}

TEST_F(ConfigCheckFile, WantsOneOfActorAndLearner) {
  EXPECT_THAT(FaultOf({"check", "--actor", "--learner", "f"}), HasSubstr("excludes"));
}

}  // namespace
}  // namespace vixen::tool
