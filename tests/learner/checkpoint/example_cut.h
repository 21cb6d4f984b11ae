// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "learner/checkpoint/learner_cut.h"
#include "learner/loop/plan.h"
#include "learner/trainer/initial_weights.h"
#include "proto/codec/convert.h"
#include "proto/config/config_file.h"
#include "proto/config/settings.h"

namespace vixen::learner {

inline kernels::Architecture ExampleArchitecture() {
  return {.features = 2,
          .hidden1 = 16,
          .hidden2 = 16,
          .value_hidden = 16,
          .advantage_hidden = 16,
          .curiosity_hidden = 16};
}

// What a learner of default settings works with.
inline Plan ExamplePlan() {
  v1::GetInfoResponse info;
  v1::EnvironmentSettings settings;
  settings.set_carry_over(true);
  info.set_settings(config::SettingsBytes(settings));
  info.set_episodes(128);
  info.set_steps(500);
  *info.mutable_architecture() = codec::ToProto(ExampleArchitecture());
  info.mutable_dataset()->set_fingerprint(std::string(32, 'd'));
  info.mutable_dataset()->set_scaler_fingerprint(std::string(32, 's'));
  info.mutable_dataset()->set_bars(1000);
  v1::LearnerConfig config;
  EXPECT_TRUE(config::ParseConfig(config::EffectiveText(config), "defaults", config).ok());
  config.set_consumer("me");
  config.mutable_network()->Clear();
  absl::StatusOr<Plan> plan = MakePlan(config, info);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

inline std::vector<ReplayRow> RandomRows(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&] { return static_cast<float>(random() % 1000) / 250.0f; };
  std::vector<ReplayRow> rows(count);
  for (ReplayRow& row : rows) {
    row.bar = static_cast<uint32_t>(random() % 999);
    row.bootstrap_bar = row.bar + 1;
    for (float* portfolio : {row.portfolio, row.next_portfolio, row.bootstrap_portfolio}) {
      for (int k = 0; k < kernels::kPortfolioFeatures; ++k) portfolio[k] = number();
    }
    row.reward = number();
    row.discount = number();
    row.td = number();
    row.action = static_cast<uint8_t>(random() % kernels::kActions);
    row.flags = 1;
  }
  return rows;
}

inline OptimizerCut ExampleOptimizer(kernels::WeightsKind kind, uint64_t seed) {
  OptimizerCut cut{.first = InitialWeights(ExampleArchitecture(), kind, seed),
                   .second = InitialWeights(ExampleArchitecture(), kind, seed + 1),
                   .steps = 77};
  for (float& value : cut.second.values) value *= value;
  return cut;
}

inline LearnerCut ExampleCut(const Plan& plan) {
  using kernels::WeightsKind;
  LearnerCut cut;
  v1::Checkpoint& head = cut.head;
  head.set_format(1);
  head.set_policy("default");
  head.set_group("learner");
  head.set_consumer("me");
  *head.mutable_architecture() = codec::ToProto(plan.architecture);
  head.set_dataset_fingerprint(plan.dataset_fingerprint);
  head.set_scaler_fingerprint(plan.scaler_fingerprint);
  head.set_environment(plan.environment_bytes);
  head.set_configuration(config::EffectiveText(plan.config));
  head.set_updates(500);
  head.set_transitions(90);
  head.set_online_version(5);

  cut.trainer = {.online = InitialWeights(plan.architecture, WeightsKind::kOnline, 1),
                 .target = InitialWeights(plan.architecture, WeightsKind::kTarget, 2),
                 .optimizer = ExampleOptimizer(WeightsKind::kOnline, 3),
                 .updates = 500};
  cut.curiosity =
      CuriosityCut{.weights = InitialWeights(plan.architecture, WeightsKind::kCuriosity, 5),
                   .optimizer = ExampleOptimizer(WeightsKind::kCuriosity, 6)};
  cut.replay.rows.Assign(RandomRows(40, 1));
  for (int i = 0; i < 40; ++i) cut.replay.leaves.push_back(0.1 * i);
  cut.replay.inserted = 90;
  cut.replay.sampler = 0xFEDCBA9876543210;
  head.mutable_replay()->set_capacity(40);
  head.mutable_replay()->set_rows(40);
  head.mutable_replay()->set_inserted(90);
  head.mutable_replay()->set_sampler(cut.replay.sampler);
  v1::CheckpointRun& run = *head.add_runs();
  run.mutable_sheet()->set_run_id(7);
  run.mutable_sheet()->set_actor("a:1");
  run.set_slots(2);
  run.set_next_launch(3);
  cut.window_run = {0, 0};
  cut.window_slot = {0, 1};
  cut.window_rows.Assign(RandomRows(2, 2));
  return cut;
}

}  // namespace vixen::learner
