// SPDX-License-Identifier: Apache-2.0
#include "proto/config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "proto/config/leaf.h"
#include "proto/config/preset.h"

namespace vixen::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Field by field, since padding may differ.
void ExpectEqual(const kernels::EnvSettings& a, const kernels::EnvSettings& b) {
  EXPECT_EQ(a.initial_capital, b.initial_capital);
  EXPECT_EQ(a.reserve, b.reserve);
  EXPECT_EQ(a.spread, b.spread);
  EXPECT_TRUE(std::equal(std::begin(a.cost_bps), std::end(a.cost_bps), b.cost_bps));
  EXPECT_TRUE(std::equal(std::begin(a.fill), std::end(a.fill), b.fill));
  EXPECT_EQ(a.rebalance_band, b.rebalance_band);
  EXPECT_EQ(a.borrow_bps, b.borrow_bps);
  EXPECT_EQ(a.profit_target_bps, b.profit_target_bps);
  EXPECT_EQ(a.stop_loss_bps, b.stop_loss_bps);
  EXPECT_EQ(a.max_holding_bars, b.max_holding_bars);
  EXPECT_EQ(a.min_equity, b.min_equity);
  EXPECT_EQ(a.max_episode_steps, b.max_episode_steps);
  EXPECT_EQ(a.gamma, b.gamma);
  EXPECT_EQ(a.pnl_scale, b.pnl_scale);
  EXPECT_EQ(a.barrier_bonus, b.barrier_bonus);
  EXPECT_EQ(a.risk_threshold, b.risk_threshold);
  EXPECT_EQ(a.risk_scale, b.risk_scale);
  EXPECT_EQ(a.diversity_min_entropy, b.diversity_min_entropy);
  EXPECT_EQ(a.diversity_penalty, b.diversity_penalty);
  EXPECT_EQ(a.curiosity_max, b.curiosity_max);
  EXPECT_EQ(a.on_barrier, b.on_barrier);
  EXPECT_EQ(a.barrier_shaping, b.barrier_shaping);
  EXPECT_EQ(a.recycle, b.recycle);
  EXPECT_EQ(a.carry_over, b.carry_over);
  EXPECT_EQ(a.double_dqn, b.double_dqn);
  ASSERT_EQ(a.action_count, b.action_count);
  EXPECT_TRUE(std::equal(a.actions, a.actions + a.action_count, b.actions));
}

TEST(ToEnvSettings, DefaultsAreThoseOfTheRules) {
  ExpectEqual(ToEnvSettings(v1::EnvironmentSettings()), kernels::EnvSettings());
}

TEST(ToEnvSettings, CarriesEveryField) {
  // Values that no default has, so that a field left behind or mixed up shows.
  v1::EnvironmentSettings from;
  from.set_initial_capital(1);
  from.set_reserve(0.5f);
  from.set_spread(0.03f);
  for (int i = 0; i < 9; ++i) {
    from.add_cost_bps(10.0f + static_cast<float>(i));
    from.add_fill(0.1f * static_cast<float>(i));
  }
  from.set_rebalance_band(4);
  from.set_borrow_bps(5);
  from.set_profit_target_bps(6);
  from.set_stop_loss_bps(7);
  from.set_max_holding_bars(8);
  from.set_min_equity(0.9f);
  from.set_max_episode_steps(10);
  from.set_gamma(0.11f);
  from.set_pnl_scale(12);
  from.set_barrier_bonus(13);
  from.set_risk_threshold(1.4f);
  from.set_risk_scale(15);
  from.set_diversity_min_entropy(1.1f);
  from.set_diversity_penalty(17);
  from.set_curiosity_max(18);
  from.set_on_barrier(v1::EnvironmentSettings::RELABEL);
  from.set_barrier_shaping(v1::EnvironmentSettings::ALIGNED);
  from.set_recycle(false);
  from.set_carry_over(true);
  from.set_double_dqn(true);
  for (uint32_t action : {1, 19, 37}) from.add_actions(action);

  kernels::EnvSettings to;
  to.initial_capital = 1;
  to.reserve = 0.5f;
  to.spread = 0.03f;
  for (int i = 0; i < 9; ++i) {
    to.cost_bps[i] = 10.0f + static_cast<float>(i);
    to.fill[i] = 0.1f * static_cast<float>(i);
  }
  to.rebalance_band = 4;
  to.borrow_bps = 5;
  to.profit_target_bps = 6;
  to.stop_loss_bps = 7;
  to.max_holding_bars = 8;
  to.min_equity = 0.9f;
  to.max_episode_steps = 10;
  to.gamma = 0.11f;
  to.pnl_scale = 12;
  to.barrier_bonus = 13;
  to.risk_threshold = 1.4f;
  to.risk_scale = 15;
  to.diversity_min_entropy = 1.1f;
  to.diversity_penalty = 17;
  to.curiosity_max = 18;
  to.on_barrier = kernels::OnBarrier::kRelabel;
  to.barrier_shaping = kernels::BarrierShaping::kAligned;
  to.recycle = false;
  to.carry_over = true;
  to.double_dqn = true;
  to.action_count = 3;
  to.actions[0] = 1;
  to.actions[1] = 19;
  to.actions[2] = 37;
  ExpectEqual(ToEnvSettings(from), to);
}

TEST(EffectiveEnvironment, SetsEveryField) {
  const v1::EnvironmentSettings effective = EffectiveEnvironment({});
  for (const Leaf& leaf : LeavesOf(*effective.GetDescriptor())) {
    EXPECT_GT(CountOf(effective, *leaf.field), 0) << leaf.name();
  }
  EXPECT_EQ(effective.actions_size(), 45);
  EXPECT_EQ(effective.actions(44), 44u);
}

TEST(EffectiveEnvironment, PresetGivesWhatIsNotSaid) {
  v1::EnvironmentSettings settings;
  settings.set_preset(v1::EnvironmentSettings::RECOMMENDED);
  settings.set_pnl_scale(1);  // the default, but said
  settings.add_actions(5);
  const v1::EnvironmentSettings effective = EffectiveEnvironment(settings);
  EXPECT_EQ(effective.preset(), v1::EnvironmentSettings::RECOMMENDED);
  EXPECT_EQ(effective.pnl_scale(), 1.0f);
  EXPECT_EQ(effective.on_barrier(), v1::EnvironmentSettings::RELABEL);
  EXPECT_EQ(effective.barrier_shaping(), v1::EnvironmentSettings::ALIGNED);
  EXPECT_TRUE(effective.double_dqn());
  EXPECT_EQ(effective.diversity_penalty(), 0.0005f);
  EXPECT_EQ(effective.risk_scale(), 0.05f);
  EXPECT_EQ(effective.curiosity_max(), 0.001f);
  EXPECT_EQ(effective.stop_loss_bps(), 25.0f);  // no preset's business
  EXPECT_THAT(effective.actions(), ElementsAre(5));
}

TEST(LearnerPreset, GivesWhatIsNotSaid) {
  v1::LearnerConfig config;
  config.set_preset(v1::LEARNER_RECOMMENDED);
  config.mutable_trainer()->set_batch_size(32);
  v1::LearnerConfig said = config;
  said.mutable_trainer()->set_learning_rate(5e-4);  // the default, but said
  ApplyPreset(config);
  EXPECT_EQ(config.replay().alpha(), 0.0);
  EXPECT_EQ(config.trainer().learning_rate(), 1e-4);
  EXPECT_EQ(config.trainer().batch_size(), 32u);
  ApplyPreset(said);
  EXPECT_EQ(said.trainer().learning_rate(), 5e-4);
  EXPECT_EQ(said.replay().alpha(), 0.0);
}

TEST(SettingsBytes, AreTheSameHoweverTheSettingsWereSaid) {
  v1::EnvironmentSettings said;
  said.set_steps(500);
  said.set_gamma(0.99f);
  EXPECT_EQ(SettingsBytes(said), SettingsBytes({}));
  EXPECT_EQ(SettingsBytes(EffectiveEnvironment({})), SettingsBytes({}));
  said.set_steps(501);
  EXPECT_NE(SettingsBytes(said), SettingsBytes({}));
}

// A change of this value breaks recorded batches and audits: it needs a note in CHANGELOG.md.
TEST(SettingsBytes, OfTheDefaultsKeepTheirHash) {
  EXPECT_EQ(base::ToHex(base::Sha256Of(SettingsBytes({}))),
            "56151968a2d1b4c8c871b1d7e66de37eaa2f2efae15ae20d4b9ba50bf4fe0aa2");
}

TEST(ParseSettingsBytes, GivesTheSettingsBack) {
  v1::EnvironmentSettings settings;
  settings.set_preset(v1::EnvironmentSettings::RECOMMENDED);
  settings.set_steps(7);
  const auto parsed = ParseSettingsBytes(SettingsBytes(settings), "opened");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(SettingsBytes(*parsed), SettingsBytes(settings));
  EXPECT_EQ(parsed->steps(), 7u);
}

std::string FaultOf(const std::string& bytes) {
  const auto parsed = ParseSettingsBytes(bytes, "actor 127.0.0.1:5");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}

TEST(ParseSettingsBytes, RefusesWhatIsNoneOrNotComplete) {
  EXPECT_THAT(FaultOf("\xff\xff"), HasSubstr("actor 127.0.0.1:5: settings: 2 bytes that are no"));
  EXPECT_THAT(FaultOf(""), HasSubstr("settings lack preset"));
  v1::EnvironmentSettings partial = EffectiveEnvironment({});
  partial.clear_gamma();
  EXPECT_THAT(FaultOf(partial.SerializeAsString()), HasSubstr("settings lack gamma"));
}

TEST(ParseSettingsBytes, RefusesFieldsOfALaterVersion) {
  v1::EnvironmentSettings later = EffectiveEnvironment({});
  later.GetReflection()->MutableUnknownFields(&later)->AddVarint(999, 1);
  EXPECT_THAT(FaultOf(later.SerializeAsString()), HasSubstr("field 999"));
}

TEST(ParseSettingsBytes, RefusesValuesOutsideTheirRange) {
  v1::EnvironmentSettings wrong = EffectiveEnvironment({});
  wrong.set_steps(0);
  EXPECT_THAT(FaultOf(wrong.SerializeAsString()), HasSubstr("steps is 0, allowed: 1 … 65536"));
  wrong = EffectiveEnvironment({});
  wrong.add_actions(44);  // a 46th
  EXPECT_THAT(FaultOf(wrong.SerializeAsString()), HasSubstr("actions[45] is 44 after 44"));
}

TEST(ToArchitecture, CarriesTheWidths) {
  v1::NetworkSettings network;
  EXPECT_EQ(ToArchitecture(network, 51), kernels::Architecture());
  network.set_hidden1(16);
  network.set_hidden2(32);
  network.set_value_hidden(48);
  network.set_advantage_hidden(64);
  network.set_curiosity_hidden(80);
  const kernels::Architecture architecture = ToArchitecture(network, 7);
  EXPECT_EQ(architecture.features, 7u);
  EXPECT_EQ(architecture.hidden1, 16u);
  EXPECT_EQ(architecture.hidden2, 32u);
  EXPECT_EQ(architecture.value_hidden, 48u);
  EXPECT_EQ(architecture.advantage_hidden, 64u);
  EXPECT_EQ(architecture.curiosity_hidden, 80u);
}

TEST(ToPrecision, KeepsTheMeaning) {
  EXPECT_EQ(ToPrecision(v1::AUTO), kernels::Precision::kAuto);
  EXPECT_EQ(ToPrecision(v1::FP32), kernels::Precision::kFp32);
  EXPECT_EQ(ToPrecision(v1::TF32), kernels::Precision::kTf32);
  EXPECT_EQ(ToPrecision(v1::FP16), kernels::Precision::kFp16);
}

TEST(RunSeed, FollowsTheSpecification) {
  v1::ExecutorSettings execution;
  execution.set_seed(7);
  // int.from_bytes(hashlib.sha256(struct.pack("<QQ", 7, 0x0123456789abcdef) +
  // b"default").digest()[:8], "little")
  EXPECT_EQ(RunSeed(execution, 0x0123456789abcdef, "default"), 16608733013371777438u);
}

TEST(RunSeed, DiffersBetweenRunsAndPolicies) {
  v1::ExecutorSettings execution;
  const uint64_t seed = RunSeed(execution, 1, "a");
  EXPECT_EQ(RunSeed(execution, 1, "a"), seed);
  EXPECT_NE(RunSeed(execution, 2, "a"), seed);
  EXPECT_NE(RunSeed(execution, 1, "b"), seed);
}

TEST(RunSeed, IsTheConfiguredOneWhenExact) {
  v1::ExecutorSettings execution;
  execution.set_seed(7);
  execution.set_exact_seed(true);
  EXPECT_EQ(RunSeed(execution, 1, "a"), 7u);
}

}  // namespace
}  // namespace vixen::config
