// SPDX-License-Identifier: Apache-2.0
#include "proto/config/preset.h"

namespace vixen::config {
namespace {

// The shaping terms of the published design are a hundred times a one-minute bar's return; with
// these numbers profit has the largest share of the reward's variance from one-minute to daily
// bars.
const v1::EnvironmentSettings& Recommended() {
  static const v1::EnvironmentSettings* const values = [] {
    auto* settings = new v1::EnvironmentSettings;
    settings->set_on_barrier(v1::EnvironmentSettings::RELABEL);
    settings->set_barrier_shaping(v1::EnvironmentSettings::ALIGNED);
    settings->set_double_dqn(true);
    settings->set_pnl_scale(100.0f);
    settings->set_diversity_penalty(0.0005f);
    settings->set_risk_scale(0.05f);
    settings->set_curiosity_max(0.001f);
    return settings;
  }();
  return *values;
}

// Measured on the test-bed (docs/learning.md). Singular fields only, as above.
const v1::LearnerConfig& RecommendedLearner() {
  static const v1::LearnerConfig* const values = [] {
    auto* config = new v1::LearnerConfig;
    config->mutable_replay()->set_alpha(0);
    config->mutable_trainer()->set_learning_rate(1e-4);
    return config;
  }();
  return *values;
}

}  // namespace

void ApplyPreset(v1::LearnerConfig& config) {
  if (config.preset() != v1::LEARNER_RECOMMENDED) return;
  v1::LearnerConfig merged = RecommendedLearner();
  merged.MergeFrom(config);
  config = std::move(merged);
}

void ApplyPreset(v1::EnvironmentSettings& settings) {
  if (settings.preset() != v1::EnvironmentSettings::RECOMMENDED) return;
  // Singular fields only, so that merging replaces what was said and appends nothing.
  v1::EnvironmentSettings merged = Recommended();
  merged.MergeFrom(settings);
  settings = std::move(merged);
}

}  // namespace vixen::config
