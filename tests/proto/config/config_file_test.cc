// SPDX-License-Identifier: Apache-2.0
#include "proto/config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exit_code.h"
#include "base/file.h"
#include "tests/scratch_folder.h"
#include "vixen/v1/config.pb.h"

namespace vixen::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string FaultOf(const std::string& text) {
  v1::ActorConfig config;
  config.set_listen("untouched:1");
  const auto origins = ParseConfig(text, "a.textproto", config);
  EXPECT_TRUE(base::IsUsageError(origins.status())) << origins.status();
  EXPECT_EQ(config.listen(), "untouched:1");
  return std::string(origins.status().message());
}

TEST(ConfigFile, GivesValuesAndWhereTheyStand) {
  v1::ActorConfig config;
  const auto origins = ParseConfig(
      "# comment\nlisten: \"localhost:1\"\nenvironment {\n  steps: 7 actions: [1, 2]\n}\n",
      "a.textproto", config);
  ASSERT_TRUE(origins.ok()) << origins.status();
  EXPECT_EQ(config.environment().steps(), 7u);
  EXPECT_EQ(origins->at("listen"), "a.textproto:2:1");
  EXPECT_EQ(origins->at("steps"), "a.textproto:4:3");
  EXPECT_EQ(origins->at("actions"), "a.textproto:4:12");
  EXPECT_EQ(origins->count("episodes"), 0u);
}

TEST(ConfigFile, NamesTheNearestFieldForAnUnknownOne) {
  EXPECT_EQ(FaultOf("environment {\n  steps: 5\n  episods: 4\n}"),
            "a.textproto:3:3: unknown setting \"episods\" in EnvironmentSettings; did you mean "
            "episodes?");
}

TEST(ConfigFile, SaysWhereAMisplacedFieldBelongs) {
  EXPECT_EQ(FaultOf("steps: 5"),
            "a.textproto:1:1: unknown setting \"steps\" in ActorConfig: it belongs in environment "
            "{ steps: … }");
  EXPECT_EQ(FaultOf("log { listen: \"x\" }"),
            "a.textproto:1:7: unknown setting \"listen\" in LogSettings: it belongs outside of "
            "every { }");
}

TEST(ConfigFile, ListsTheNamesOfAnEnum) {
  EXPECT_THAT(FaultOf("environment { on_barrier: RELABLE }"),
              HasSubstr("unknown value RELABLE of on_barrier, expected TERMINATE, RELABEL"));
}

TEST(ConfigFile, NamesLineAndColumnOfOtherFaults) {
  EXPECT_THAT(FaultOf("listen: \"a:1\"\nenvironment {"), StartsWith("a.textproto:2:14: "));
  EXPECT_THAT(FaultOf("environment {\n steps: \"x\"\n}"), StartsWith("a.textproto:2:9: "));
  EXPECT_THAT(FaultOf("environment {\n steps: -1\n}"), StartsWith("a.textproto:2:9: "));
  EXPECT_THAT(FaultOf("environment {\n steps: 4294967296\n}"), StartsWith("a.textproto:2:9: "));
  EXPECT_THAT(FaultOf("listen: \"a:1\"\nlisten: \"b:1\"\n"), StartsWith("a.textproto:2:"));
}

TEST(ConfigFile, SurvivesBytesThatAreNoText) {
  EXPECT_THAT(FaultOf(std::string("\0\xff{{{", 5)), StartsWith("a.textproto:1:"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "environment {";
  EXPECT_THAT(FaultOf(deep), StartsWith("a.textproto:1:"));
}

TEST(ConfigFile, NamesTheMissingFile) {
  testing::ScratchFolder scratch;
  v1::ActorConfig config;
  const auto origins = ReadConfigFile(scratch.File("none"), config);
  EXPECT_TRUE(base::IsUsageError(origins.status()));
  EXPECT_THAT(std::string(origins.status().message()), HasSubstr(scratch.File("none")));
}

TEST(ConfigFile, ReadsFromDisk) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(base::WriteFileAtomically(scratch.File("a"), "grace_seconds: 3").ok());
  v1::ActorConfig config;
  const auto origins = ReadConfigFile(scratch.File("a"), config);
  ASSERT_TRUE(origins.ok()) << origins.status();
  EXPECT_EQ(config.grace_seconds(), 3);
}

TEST(EffectiveText, FillsDefaultsAndPresets) {
  v1::ActorConfig config;
  config.mutable_environment()->set_preset(v1::EnvironmentSettings::RECOMMENDED);
  config.mutable_environment()->set_pnl_scale(7);
  const std::string text = EffectiveText(config);
  EXPECT_THAT(text, HasSubstr("listen: \"127.0.0.1:50051\"\n"));
  EXPECT_THAT(text, HasSubstr("  on_barrier: RELABEL\n"));
  EXPECT_THAT(text, HasSubstr("  pnl_scale: 7\n"));
  EXPECT_THAT(text, HasSubstr("  cost_bps: [1, 1.5, 2, 0.2, 0.3, 0.4, 0.8, 1, 1.2]\n"));
}

TEST(EffectiveText, ReadBackGivesTheSameText) {
  v1::LearnerConfig learner;
  learner.add_actor("127.0.0.1:1");
  learner.set_out("a \"quoted\"\n\\ path");
  learner.mutable_trainer()->set_learning_rate(1.0 / 3.0);
  learner.mutable_exploration()->set_epsilon_end(1.0f / 3.0f);
  for (bool with_help : {false, true}) {
    const std::string text = EffectiveText(learner, with_help);
    v1::LearnerConfig again;
    const auto origins = ParseConfig(text, "text", again);
    ASSERT_TRUE(origins.ok()) << origins.status();
    EXPECT_EQ(EffectiveText(again, with_help), text);
    EXPECT_EQ(again.out(), learner.out());
    EXPECT_EQ(again.trainer().learning_rate(), 1.0 / 3.0);
    EXPECT_EQ(again.exploration().epsilon_end(), 1.0f / 3.0f);
  }
}

TEST(EffectiveText, ExplainsSettingsWhenAsked) {
  EXPECT_THAT(EffectiveText(v1::ActorConfig(), true),
              HasSubstr("  # L, steps a launch (1 … 65536)\n  steps: 500\n"));
}

TEST(EffectiveText, ShowsTestingSettingsOnlyWhenTheyAreUsed) {
  v1::LearnerConfig config;
  EXPECT_THAT(EffectiveText(config), Not(HasSubstr("testing")));
  config.mutable_testing()->set_plant_frozen_target(true);
  EXPECT_THAT(EffectiveText(config), HasSubstr("testing {\n  plant_frozen_target: true\n}\n"));
}

}  // namespace
}  // namespace vixen::config
