// SPDX-License-Identifier: Apache-2.0
#include "kernels/env/rules.h"

#include <cmath>

namespace vixen::kernels {

Rules MakeRules(const EnvSettings& settings, uint32_t launch_steps) {
  Rules rules;
  rules.settings = settings;
  rules.launch_steps = launch_steps;
  for (int i = 0; i < kStyles; ++i) {
    rules.rate[i] = settings.cost_bps[i] / 1e4f + settings.spread / 2.0f;
  }
  rules.invested_share = 1.0f - settings.reserve;
  rules.borrow_rate = settings.borrow_bps / 1e4f;
  rules.profit_target = settings.profit_target_bps / 1e4f;
  rules.stop_loss = settings.stop_loss_bps / 1e4f;
  rules.ruin_equity = settings.min_equity * settings.initial_capital;
  rules.least_exposure_equity = 0.01f * settings.initial_capital;
  for (int i = 1; i <= kDiversityWindow; ++i) {
    const double p = static_cast<double>(i) / kDiversityWindow;
    rules.p_log2_p[i] = static_cast<float>(p * std::log2(p));
  }
  return rules;
}

}  // namespace vixen::kernels
