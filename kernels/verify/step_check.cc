// SPDX-License-Identifier: Apache-2.0
#include "kernels/verify/step_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "kernels/verify/reference_network.h"

namespace vixen::kernels {

std::string StepCheckResult::Describe() const {
  char text[256];
  std::snprintf(
      text, sizeof text,
      "%llu rows; of the row's range of Q: largest error %.1e, td %.1e; %llu other actions, "
      "largest margin %.1e",
      static_cast<unsigned long long>(rows), largest_q_error, largest_td_error,
      static_cast<unsigned long long>(other_actions), largest_margin);
  return text;
}

StepCheckResult CheckSteps(const CollectorOptions& options, const Parameters& online,
                           const Parameters& target, Batch& batch, uint64_t stride, bool scripted) {
  const std::vector<LayerLayout> layers = LayersOf(options.architecture, WeightsKind::kOnline);
  const EnvSettings& settings = options.settings;
  const BatchView view = batch.view();
  StepCheckResult result;
  for (uint64_t row = 0; row < batch.rows(); row += stride) {
    const uint8_t flags = view.flags[row];
    if ((flags & kFlagValid) == 0) continue;
    const std::vector<double> q = ReferenceQ(
        online, layers,
        ReferenceState(options.market, view.bar[row], view.portfolio + row * kPortfolioFeatures));
    const auto [least, most] = std::minmax_element(q.begin(), q.end());
    const double range = *most - *least;
    for (int a = 0; a < kActions; ++a) {
      double error = std::fabs(view.q[row * kActions + a] - q[a]) / range;
      if (std::isnan(error)) error = INFINITY;
      result.largest_q_error = std::max(result.largest_q_error, error);
    }
    const int action = view.action[row];
    const double best = LargestAllowed(settings, q);
    if (!scripted && (flags & kFlagExplored) == 0 && q[action] < best) {
      result.other_actions += 1;
      result.largest_margin = std::max(result.largest_margin, (best - q[action]) / range);
    }
    if (!settings.double_dqn) {
      double goal = view.reward[row];
      if ((flags & kFlagTerminated) == 0) {
        const std::vector<double> next =
            ReferenceQ(target, layers,
                       ReferenceState(options.market, view.bar[row] + 1,
                                      view.next_portfolio + row * kPortfolioFeatures));
        goal += settings.gamma * LargestAllowed(settings, next);
      }
      const double td = std::fabs(goal - q[action]);
      result.largest_td_error =
          std::max(result.largest_td_error, std::fabs(td - view.td[row]) / range);
    }
    result.rows += 1;
  }
  return result;
}

absl::StatusOr<StepCheckResult> RunStepCheck(const GoldenCase& golden,
                                             const CollectorFactory& factory) {
  VIXEN_ASSIGN_OR_RETURN(const std::unique_ptr<Collector> collector, factory(golden.options));
  for (const Parameters* parameters : {&golden.online, &golden.target, &golden.curiosity}) {
    if (parameters->values.empty()) continue;
    VIXEN_RETURN_IF_ERROR(collector->StageWeights(*parameters).status());
    collector->CommitWeights(parameters->kind);
  }
  Batch batch(golden.options.episodes, golden.options.steps, true, true);
  LaunchRequest request;
  request.epsilon = golden.epsilon;
  request.inputs.rng = golden.rng;
  request.inputs.starts = golden.starts;
  VIXEN_RETURN_IF_ERROR(collector->Launch(request, batch));
  VIXEN_RETURN_IF_ERROR(collector->Wait(batch));
  return CheckSteps(golden.options, golden.online, golden.target, batch, 1);
}

}  // namespace vixen::kernels
