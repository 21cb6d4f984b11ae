// SPDX-License-Identifier: Apache-2.0
#include "proto/config/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/exit_code.h"

namespace vixen::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The faults of a textproto configuration, one message a line.
template <typename Config>
std::string FaultsOf(const std::string& text) {
  Config config;
  const auto origins = ParseConfig(text, "f", config);
  EXPECT_TRUE(origins.ok()) << origins.status();
  std::string lines;
  for (const Fault& fault : FindFaults(config)) lines += fault.message + "\n";
  return lines;
}

std::string Environment(const std::string& text) { return FaultsOf<v1::EnvironmentSettings>(text); }
std::string Actor(const std::string& text) { return FaultsOf<v1::ActorConfig>(text); }
std::string Learner(const std::string& text) { return FaultsOf<v1::LearnerConfig>(text); }

TEST(ConfigCheck, AcceptsTheLimitsThemselves) {
  EXPECT_EQ(Environment("steps: 1 episodes: 65536 min_equity: 0.9999 reserve: 0.99 spread: 0.1"),
            "");
  EXPECT_EQ(
      Environment("min_equity: 0.01 initial_capital: 1e12 gamma: 0 max_holding_bars: 2147483647"),
      "");
  EXPECT_EQ(FaultsOf<v1::NetworkSettings>("hidden1: 16 hidden2: 1024 curiosity_hidden: 256"), "");
}

TEST(ConfigCheck, NamesValueAndRange) {
  EXPECT_EQ(Environment("steps: 0"), "steps is 0, allowed: 1 … 65536\n");
  EXPECT_EQ(Environment("steps: 65537"), "steps is 65537, allowed: 1 … 65536\n");
  EXPECT_EQ(Environment("min_equity: 0.99995"), "min_equity is 0.99995, allowed: 0.01 … 0.9999\n");
  EXPECT_EQ(Environment("initial_capital: 0"),
            "initial_capital is 0, allowed: above 0, at most 1000000000000\n");
  EXPECT_EQ(FaultsOf<v1::NetworkSettings>("hidden1: 40"),
            "hidden1 is 40, allowed: 16 … 1024, a multiple of 16\n");
  EXPECT_EQ(FaultsOf<v1::LimiterSettings>("limiter_window: -1"),
            "limiter_window is -1, allowed: at least 0\n");
}

TEST(ConfigCheck, RefusesNumbersThatAreNotFinite) {
  EXPECT_EQ(Environment("gamma: nan"), "gamma is nan, allowed: 0 … 1\n");
  EXPECT_EQ(FaultsOf<v1::TrainerSettings>("max_gradient_norm: inf"),
            "max_gradient_norm is inf, allowed: at least 0\n");
  EXPECT_EQ(FaultsOf<v1::TestingSettings>("plant_reward_scale: nan"),
            "plant_reward_scale is nan, allowed: finite numbers\n");
}

TEST(ConfigCheck, CountsValuesAndNamesTheOneOutside) {
  EXPECT_EQ(Environment("fill: [1, 1]"), "fill has 2 values, needs 9\n");
  EXPECT_EQ(Environment("fill: [1, 1, 1, 1, 1.5, 1, 1, 1, 1]"),
            "fill[4] is 1.5, allowed: 0 … 1, 9 values\n");
  EXPECT_EQ(Environment("actions: [3, 45]"), "actions[1] is 45, allowed: at most 44\n");
}

TEST(ConfigCheck, FindsEveryFault) {
  EXPECT_EQ(
      Environment("steps: 0 episodes: 0 recycle: false carry_over: true"),
      "episodes is 0, allowed: 1 … 65536\nsteps is 0, allowed: 1 … 65536\n"
      "carry_over is true with recycle false: a slot that idles has no episode to carry over; "
      "set recycle true or carry_over false\n");
}

TEST(ConfigCheck, RefusesActionsOutOfOrder) {
  EXPECT_EQ(Environment("actions: [0, 22, 44]"), "");
  EXPECT_THAT(Environment("actions: [1, 19, 19]"), HasSubstr("actions[2] is 19 after 19"));
  EXPECT_THAT(Environment("actions: [19, 1]"), HasSubstr("actions[1] is 1 after 19"));
}

TEST(ConfigCheck, RefusesARangeOfLessThanTwoBars) {
  EXPECT_EQ(Environment("begin: 1000"), "");
  EXPECT_EQ(Environment("begin: 5 end: 7"), "");
  EXPECT_THAT(Environment("begin: 5 end: 6"), HasSubstr("begin is 5 and end is 6"));
  EXPECT_THAT(Environment("begin: 6 end: 5"), HasSubstr("begin is 6 and end is 5"));
}

TEST(ConfigCheck, JudgesTheReplayAgainstItsUsers) {
  EXPECT_THAT(Learner("replay { beta_start: 0.9 beta_end: 0.5 }"),
              HasSubstr("beta_start is 0.9, above beta_end 0.5"));
  EXPECT_THAT(
      Learner("replay { capacity: 500 } limiter { min_size: 500 } trainer { batch_size: 512 }"),
      HasSubstr("capacity is 500, below batch_size 512"));
  EXPECT_THAT(Learner("replay { capacity: 500 } limiter { min_size: 501 }"),
              HasSubstr("capacity is 500, below min_size 501"));
  EXPECT_EQ(Learner("replay { capacity: 500 n_step: 5 } limiter { min_size: 500 }"), "");
}

TEST(ConfigCheck, AllowsExplorationToGrow) {
  EXPECT_EQ(Learner("exploration { epsilon_start: 0.1 epsilon_end: 0.5 }"), "");
}

TEST(ConfigCheck, RefusesWeightDecayWithAdam) {
  EXPECT_THAT(Learner("trainer { weight_decay: 0.01 }"),
              HasSubstr("weight_decay is 0.01 with optimizer ADAM"));
  EXPECT_EQ(Learner("trainer { weight_decay: 0.01 optimizer: ADAMW }"), "");
}

TEST(ConfigCheck, ListensBeyondLoopbackOnlyWithTlsOrInsecure) {
  EXPECT_THAT(Actor("listen: \"0.0.0.0:50051\""),
              AllOf(HasSubstr("listen is \"0.0.0.0:50051\""), HasSubstr("insecure false")));
  EXPECT_EQ(Actor("listen: \"0.0.0.0:50051\" tls { insecure: true }"), "");
  EXPECT_EQ(Actor("listen: \"0.0.0.0:50051\" tls { tls_certificate: \"c\" tls_key: \"k\" "
                  "tls_ca: \"a\" }"),
            "");
  EXPECT_THAT(Actor("tls { tls_certificate: \"c\" tls_key: \"k\" }"),
              HasSubstr("tls_certificate is \"c\" without tls_ca"));
  EXPECT_EQ(Actor("listen: \"[::1]:0\""), "");
}

TEST(ConfigCheck, ALearnerTellsOfItselfOnItsOwnMachineOnly) {
  EXPECT_THAT(Learner("listen: \"0.0.0.0:50061\" tls { insecure: true }"),
              HasSubstr("listen is \"0.0.0.0:50061\", not loopback"));
  EXPECT_EQ(Learner("listen: \"127.0.0.1:50061\""), "");
}

TEST(ConfigCheck, ConnectsBeyondLoopbackOnlyWithTlsOrInsecure) {
  EXPECT_THAT(Learner("actor: \"10.0.0.1:5\""), HasSubstr("actor is \"10.0.0.1:5\", not loopback"));
  EXPECT_EQ(Learner("actor: \"10.0.0.1:5\" tls { insecure: true }"), "");
  EXPECT_EQ(Learner("actor: \"10.0.0.1:5\" tls { tls_ca: \"ca\" }"), "");
}

TEST(ConfigCheck, WantsCertificateAndKeyTogether) {
  EXPECT_EQ(Learner("tls { tls_certificate: \"c\" }"),
            "tls_certificate is \"c\" without tls_key\n");
  EXPECT_EQ(Learner("tls { tls_key: \"k\" }"), "tls_key is \"k\" without tls_certificate\n");
  EXPECT_THAT(Actor("tls { tls_ca: \"ca\" }"),
              HasSubstr("tls_ca is \"ca\" without tls_certificate"));
}

TEST(ConfigCheck, NamesBadAddresses) {
  EXPECT_THAT(Actor("listen: \"\""), HasSubstr("listen: \"\" is not HOST:PORT"));
  EXPECT_THAT(Actor("metrics_listen: \"x\""), HasSubstr("metrics_listen: \"x\" is not HOST:PORT"));
  EXPECT_EQ(Actor("metrics_listen: \"\""), "");
  EXPECT_THAT(Actor("listen: \"localhost:9\" metrics_listen: \"localhost:9\""),
              HasSubstr("metrics_listen and listen are both \"localhost:9\""));
  EXPECT_THAT(Actor("listen: \"localhost:9\" health_listen: \"localhost:9\""),
              HasSubstr("health_listen and listen are both \"localhost:9\""));
  EXPECT_THAT(Actor("metrics_listen: \"localhost:9\" health_listen: \"localhost:9\""),
              HasSubstr("health_listen and metrics_listen are both \"localhost:9\""));
  EXPECT_THAT(Learner("listen: \"localhost:9\" metrics_listen: \"localhost:9\""),
              HasSubstr("metrics_listen and listen are both \"localhost:9\""));
  EXPECT_EQ(Learner("listen: \"localhost:9\" metrics_listen: \"localhost:8\""), "");
  EXPECT_EQ(Actor("listen: \"localhost:0\" metrics_listen: \"localhost:0\""), "");
  EXPECT_THAT(Learner("actor: \"localhost:0\""), HasSubstr("has port 0"));
  EXPECT_THAT(Learner("actor: \"localhost:1\" actor: \"localhost:1\""), HasSubstr("listed twice"));
}

TEST(ConfigCheck, NamesBadWordsAndNames) {
  EXPECT_THAT(Actor("log { log_level: \"loud\" }"),
              HasSubstr("log_level is \"loud\", allowed: trace, debug, info, warn, error"));
  EXPECT_THAT(Learner("device: \"tpu\""), HasSubstr("device is \"tpu\", allowed: auto, cpu, cuda"));
  EXPECT_THAT(Learner("policy: \"a b\""), HasSubstr("policy is \"a b\""));
  EXPECT_THAT(Learner("group: \"\""), HasSubstr("group is \"\""));
  EXPECT_EQ(Learner("consumer: \"host-1.pid_7\""), "");
}

TEST(ConfigCheck, WantsRoomForTheWeights) {
  EXPECT_THAT(
      Actor("stream { max_weights_bytes: 4096 }"),
      AllOf(HasSubstr("max_weights_bytes is 4096"), HasSubstr("hidden1 256 × hidden2 256")));
}

TEST(ConfigCheck, StatusIsAUsageErrorWithTheOriginAndTheCount) {
  v1::EnvironmentSettings config;
  config.set_steps(0);
  config.set_episodes(0);
  const absl::Status status = CheckConfig(config, {{"episodes", "a.textproto:3:5"}});
  EXPECT_TRUE(base::IsUsageError(status));
  EXPECT_EQ(status.message(), "a.textproto:3:5: episodes is 0, allowed: 1 … 65536 (and 1 more)");
  EXPECT_TRUE(CheckConfig(v1::ActorConfig()).ok());
}

TEST(IsName, IsOneTo64OfItsLetters) {
  EXPECT_TRUE(IsName("a"));
  EXPECT_TRUE(IsName(std::string(64, 'Z')));
  for (const std::string& text :
       {std::string(), std::string(65, 'a'), std::string("a/b"), std::string("é")}) {
    EXPECT_FALSE(IsName(text)) << text;
  }
}

TEST(LimiterWindow, IsTheLeastForTwoLaunchesWhenNotGiven) {
  v1::LimiterSettings limiter;
  limiter.set_samples_per_insert(4);
  // 4·(2·100) + 32·(1 + 1)
  EXPECT_EQ(LimiterWindow(limiter, 100, 32, 1).value(), 864);
}

TEST(LimiterWindow, BelowTheLeastIsRefusedWithBothNumbers) {
  v1::LimiterSettings limiter;
  limiter.set_samples_per_insert(4);
  limiter.set_limiter_window(464);  // 4·100 + 32·2
  EXPECT_EQ(LeastLimiterWindow(4, 100, 32, 1), 464);
  EXPECT_EQ(LimiterWindow(limiter, 100, 32, 1).value(), 464);
  limiter.set_limiter_window(463);
  const auto window = LimiterWindow(limiter, 100, 32, 1);
  EXPECT_TRUE(base::IsUsageError(window.status()));
  EXPECT_THAT(std::string(window.status().message()),
              HasSubstr("limiter_window is 463, needs at least 464"));
}

}  // namespace
}  // namespace vixen::config
