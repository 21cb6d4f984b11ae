// SPDX-License-Identifier: Apache-2.0
#include "proto/config/config_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exit_code.h"
#include "base/file.h"
#include "proto/config/command_line.h"
#include "tests/scratch_folder.h"
#include "vixen/v1/config.pb.h"

namespace vixen::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

template <typename Config>
absl::Status Read(std::vector<std::string> arguments, Config& config,
                  ConfigFlags::File file = ConfigFlags::File::kOption) {
  CLI::App app("test", "test");
  ConfigFlags flags(app, config, file);
  std::string text;
  absl::Status status = ParseArguments(app, std::move(arguments), text);
  EXPECT_EQ(text, "");
  return status.ok() ? flags.Apply() : status;
}

std::string FaultOf(std::vector<std::string> arguments) {
  v1::ActorConfig config;
  const absl::Status status = Read(std::move(arguments), config);
  EXPECT_TRUE(base::IsUsageError(status)) << status;
  EXPECT_EQ(config.ByteSizeLong(), 0u) << "half applied";
  return std::string(status.message());
}

TEST(ConfigFlags, WithoutFlagsGiveTheDefaults) {
  v1::ActorConfig config;
  ASSERT_TRUE(Read({}, config).ok());
  EXPECT_TRUE(config.environment().has_steps());
  EXPECT_EQ(config.environment().steps(), 500u);
  EXPECT_EQ(config.environment().cost_bps_size(), 9);
}

TEST(ConfigFlags, SetEveryKindOfField) {
  v1::ActorConfig config;
  const absl::Status status =
      Read({"--steps", "7", "--begin=18446744073709551613", "--gamma=0.5", "--grace_seconds", "1e1",
            "--dataset", "a b.safetensors", "--actions=1,19,37", "--cost_bps",
            "-1,1,1,1,1,1,1,1,2.5", "--metrics_listen", ""},
           config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.environment().steps(), 7u);
  EXPECT_EQ(config.environment().begin(), 18446744073709551613u);
  EXPECT_EQ(config.environment().gamma(), 0.5f);
  EXPECT_EQ(config.grace_seconds(), 10.0);
  EXPECT_EQ(config.dataset(), "a b.safetensors");
  EXPECT_EQ(config.metrics_listen(), "");
  EXPECT_THAT(config.environment().actions(), ElementsAre(1, 19, 37));
  EXPECT_EQ(config.environment().cost_bps(0), -1.0f);
  EXPECT_EQ(config.environment().cost_bps(8), 2.5f);
}

TEST(ConfigFlags, TakeEnumsInAnyCaseWithAndWithoutPrefix) {
  for (const char* text : {"cpu", "CPU", "executor_cpu", "EXECUTOR_CPU"}) {
    v1::ExecutorSettings config;
    const absl::Status status = Read({"--executor", text}, config);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(config.executor(), v1::EXECUTOR_CPU) << text;
  }
  v1::EnvironmentSettings environment;
  ASSERT_TRUE(Read({"--on_barrier=relabel"}, environment).ok());
  EXPECT_EQ(environment.on_barrier(), v1::EnvironmentSettings::RELABEL);
  EXPECT_EQ(FaultOf({"--precision", "fp15"}),
            "--precision: \"fp15\" is not one of auto, fp32, tf32, fp16; did you mean fp16?");
}

TEST(ConfigFlags, TakeTruthValuesAloneOrWithAValue) {
  const auto carry_over = [](std::vector<std::string> arguments) {
    v1::EnvironmentSettings config;
    EXPECT_TRUE(Read(std::move(arguments), config).ok());
    return config.carry_over();
  };
  EXPECT_TRUE(carry_over({"--carry_over"}));
  EXPECT_TRUE(carry_over({"--carry_over=true"}));
  EXPECT_FALSE(carry_over({"--carry_over=false"}));
  EXPECT_FALSE(carry_over({"--carry_over", "--carry_over=false"}));
  EXPECT_EQ(FaultOf({"--carry_over=maybe"}), "--carry_over: \"maybe\" is not true or false");
}

TEST(ConfigFlags, AnEnumMayHaveAValueForTheBareFlag) {
  for (const auto& [argument, expected] :
       {std::pair("--resume", v1::RESUME_LAST), std::pair("--resume=last", v1::RESUME_LAST),
        std::pair("--resume=previous-ok", v1::RESUME_PREVIOUS_OK),
        std::pair("--resume=no", v1::RESUME_NO)}) {
    v1::LearnerConfig config;
    const absl::Status status = Read({argument, "--policy", "p"}, config);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(config.resume(), expected) << argument;
    EXPECT_EQ(config.policy(), "p");
  }
}

TEST(ConfigFlags, TheLastOfTwoCounts) {
  v1::EnvironmentSettings config;
  ASSERT_TRUE(Read({"--steps=1", "--steps=2"}, config).ok());
  EXPECT_EQ(config.steps(), 2u);
}

TEST(ConfigFlags, RepeatedFieldsCollectOverSeveralFlags) {
  v1::LearnerConfig config;
  ASSERT_TRUE(Read({"--actor", "127.0.0.1:1,127.0.0.1:2", "--actor=localhost:3"}, config).ok());
  EXPECT_THAT(config.actor(), ElementsAre("127.0.0.1:1", "127.0.0.1:2", "localhost:3"));
}

TEST(ConfigFlags, NameTheFlagWhoseValueDoesNotParse) {
  EXPECT_EQ(FaultOf({"--steps=5x"}), "--steps: \"5x\" is not a whole number from 0 to 4294967295");
  EXPECT_EQ(FaultOf({"--steps=-1"}), "--steps: \"-1\" is not a whole number from 0 to 4294967295");
  EXPECT_EQ(FaultOf({"--gamma=abc"}), "--gamma: \"abc\" is not a number");
  EXPECT_EQ(FaultOf({"--actions=1,,x"}),
            "--actions: \"x\" is not a whole number from 0 to 4294967295");
}

TEST(ConfigFlags, NameTheFlagWhoseValueIsOutsideItsRange) {
  EXPECT_EQ(FaultOf({"--steps=0"}), "--steps: steps is 0, allowed: 1 … 65536");
  EXPECT_EQ(FaultOf({"--gamma=nan"}), "--gamma: gamma is nan, allowed: 0 … 1");
}

TEST(ConfigFlags, OverrideTheFileAndKeepTheRestOfIt) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(base::WriteFileAtomically(scratch.File("a"),
                                        "environment { steps: 5 episodes: 9 actions: [1, 2] }")
                  .ok());
  v1::ActorConfig config;
  const absl::Status status =
      Read({"--actions=3", "--steps", "6", "--config", scratch.File("a")}, config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.environment().steps(), 6u);
  EXPECT_EQ(config.environment().episodes(), 9u);
  EXPECT_THAT(config.environment().actions(), ElementsAre(3));
}

TEST(ConfigFlags, NameTheLineOfAFaultInTheFile) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(base::WriteFileAtomically(scratch.File("a"), "environment {\n  steps: 0\n}\n").ok());
  EXPECT_EQ(FaultOf({"--config", scratch.File("a")}),
            scratch.File("a") + ":2:3: steps is 0, allowed: 1 … 65536");
  v1::ActorConfig config;
  EXPECT_TRUE(Read({"--config", scratch.File("a"), "--steps=3"}, config).ok());
}

TEST(ConfigFlags, SeveralMessagesShareACommand) {
  CLI::App app("test", "test");
  v1::EnvironmentSettings environment;
  v1::NetworkSettings network;
  v1::ExecutorSettings execution;
  ConfigFlags environment_flags(app, environment, ConfigFlags::File::kNone);
  ConfigFlags network_flags(app, network, ConfigFlags::File::kNone);
  ConfigFlags execution_flags(app, execution, ConfigFlags::File::kNone);
  std::string text;
  ASSERT_TRUE(ParseArguments(app, {"--steps=3", "--hidden1=32", "--seed=4"}, text).ok());
  ASSERT_TRUE(environment_flags.Apply().ok());
  ASSERT_TRUE(network_flags.Apply().ok());
  ASSERT_TRUE(execution_flags.Apply().ok());
  EXPECT_EQ(environment.steps(), 3u);
  EXPECT_EQ(network.hidden1(), 32u);
  EXPECT_EQ(execution.seed(), 4u);
}

TEST(ConfigFlags, HelpShowsMeaningRangeAndDefaultButNoTestingFlags) {
  CLI::App app("test", "test");
  v1::LearnerConfig config;
  ConfigFlags flags(app, config);
  std::string text;
  ASSERT_TRUE(ParseArguments(app, {"--help"}, text).ok());
  EXPECT_THAT(text, HasSubstr("--batch_size NUMBER=128"));
  EXPECT_THAT(text, HasSubstr("sampled rows an update (1 … 65536)"));
  EXPECT_THAT(text, Not(HasSubstr("plant_")));
  ASSERT_TRUE(Read({"--plant_frozen_target"}, config).ok());
  EXPECT_TRUE(config.testing().plant_frozen_target());
}

}  // namespace
}  // namespace vixen::config
