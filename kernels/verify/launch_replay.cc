// SPDX-License-Identifier: Apache-2.0
#include "kernels/verify/launch_replay.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/str_cat.h"
#include "kernels/collect/launch_start.h"
#include "kernels/env/step.h"
#include "kernels/verify/reference_network.h"
#include "kernels/verify/step_check.h"

namespace vixen::kernels {
namespace {

std::string TextOf(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

bool Close(double value, double expected, double more = 0) {
  return std::fabs(value - expected) <= 1e-5 + 1e-4 * std::fabs(expected) + more;
}

struct Range {
  explicit Range(const std::vector<double>& q) {
    const auto [least, most] = std::minmax_element(q.begin(), q.end());
    width = *most - *least;
  }
  double width;
};

// Checks the rows of one launch in order; the first fault is kept.
class Replay {
 public:
  Replay(const CollectorOptions& options, const Parameters& online, const Parameters& target,
         const Parameters& curiosity, const RecordedLaunch& launch, Batch& recorded)
      : options_(options),
        online_(online),
        target_(target),
        curiosity_(curiosity),
        launch_(launch),
        view_(recorded.view()),
        rules_(MakeRules(options.settings, options.steps)),
        q_layers_(LayersOf(options.architecture, WeightsKind::kOnline)),
        curiosity_layers_(LayersOf(options.architecture, WeightsKind::kCuriosity)),
        below_fp32_(launch.precision != Precision::kFp32) {}

  LaunchReplay Run() {
    const LaunchRequest request{.seed = launch_.seed,
                                .launch = launch_.launch,
                                .epsilon = launch_.epsilon,
                                .slot_states = launch_.slot_states};
    const absl::StatusOr<std::vector<SlotState>> start = StartSlots(options_, rules_, request, {});
    if (!start.ok()) {
      result_.fault = LaunchFault{.column = "slot_states",
                                  .recorded = "none",
                                  .computed = std::string(start.status().message())};
      return result_;
    }
    for (size_t slot = 0; slot < start->size() && !result_.fault; ++slot) {
      SlotState state = (*start)[slot];
      for (uint32_t step = 0; step < options_.steps && !result_.fault; ++step) {
        row_ = slot * options_.steps + step;
        CheckRow(step, state);
      }
    }
    return result_;
  }

 private:
  void Fault(std::string column, std::string recorded, std::string computed) {
    if (result_.fault) return;
    result_.fault = LaunchFault{.slot = row_ / options_.steps,
                                .step = row_ % options_.steps,
                                .column = std::move(column),
                                .recorded = std::move(recorded),
                                .computed = std::move(computed)};
  }
  void CheckExact(const char* column, uint32_t recorded, uint32_t computed) {
    if (recorded != computed) Fault(column, std::to_string(recorded), std::to_string(computed));
  }
  void CheckClose(const std::string& column, float recorded, double computed, double more = 0) {
    if (!Close(recorded, computed, more)) Fault(column, ValueText(recorded), TextOf(computed));
  }

  void CheckRow(uint32_t step, SlotState& state) {
    const uint8_t flags = view_.flags[row_];
    if (state.active == 0) return CheckExact("flags", flags, 0);
    const int taken = view_.action[row_];
    if (taken >= kActions) return Fault("action", std::to_string(taken), "one of 0 … 44");
    const std::vector<double> q = ReferenceQ(
        online_, q_layers_, ReferenceState(options_.market, state.bar, &view_.portfolio[row_ * 3]));
    CheckAction(state, taken, q);
    const uint32_t bar = state.bar;
    const Choice choice = ChooseAction(rules_.settings, launch_.epsilon, taken, taken, state.rng);
    const StepRecord record = StepSlot(rules_, options_.market, choice, step, state);
    CheckExact("bar", view_.bar[row_], record.bar);
    CheckExact("episode", view_.episode[row_], record.episode);
    CheckExact("flags", flags, record.flags);
    for (int k = 0; k < kPortfolioFeatures; ++k) {
      const size_t at = row_ * kPortfolioFeatures + static_cast<size_t>(k);
      CheckClose(base::StrCat("portfolio[", k, "]"), view_.portfolio[at], record.portfolio[k]);
      CheckClose(base::StrCat("next_portfolio[", k, "]"), view_.next_portfolio[at],
                 record.next_portfolio[k]);
    }
    if (result_.fault) return;
    CheckReward(record, bar, taken);
    CheckTd(bar, (record.flags & kFlagTerminated) != 0, taken, q);
    ++result_.rows;
  }

  // What the draws say: an explored row has the drawn action, another one the best of Q.
  void CheckAction(const SlotState& state, int taken, const std::vector<double>& q) {
    uint32_t rng = state.rng;
    const Choice drawn = ChooseAction(rules_.settings, launch_.epsilon, /*greedy=*/-1, -1, rng);
    if (drawn.explored) {
      return CheckExact("action", static_cast<uint32_t>(taken),
                        static_cast<uint32_t>(drawn.action));
    }
    const double best = LargestAllowed(rules_.settings, q);
    const uint8_t* const actions = rules_.settings.actions;
    const uint8_t* const end = actions + rules_.settings.action_count;
    if (q[static_cast<size_t>(taken)] == best && std::find(actions, end, taken) != end) return;
    const double margin = (best - q[static_cast<size_t>(taken)]) / Range(q).width;
    if (margin > kStepTolerance || std::find(actions, end, taken) == end) {
      const auto computed =
          std::max_element(actions, end, [&](uint8_t a, uint8_t b) { return q[a] < q[b]; });
      return Fault("action", std::to_string(taken), std::to_string(*computed));
    }
    ++result_.other_actions;
    result_.largest_margin = std::max(result_.largest_margin, margin);
  }

  void CheckReward(const StepRecord& record, uint32_t bar, int taken) {
    double term = 0;
    double more = 0;  // that the precision may add to the curiosity term
    if (rules_.settings.curiosity_max > 0) {
      const size_t at = row_ * kPortfolioFeatures;
      const std::vector<double> out = ReferenceCuriosity(
          curiosity_, curiosity_layers_, ReferenceState(options_.market, bar, &view_.portfolio[at]),
          CategoryOf(taken));
      const std::vector<double> next =
          ReferenceState(options_.market, bar + 1, &view_.next_portfolio[at]);
      double sum = 0;
      double most = 1;
      for (size_t i = 0; i < out.size(); ++i) {
        sum += (out[i] - next[i]) * (out[i] - next[i]);
        most = std::max(most, std::fabs(out[i]));
      }
      const double error = sum / static_cast<double>(out.size());
      term = std::min<double>(error, rules_.settings.curiosity_max);
      const double off = kStepTolerance * most;
      if (below_fp32_) more = 2 * std::sqrt(error) * off + off * off;
    }
    const double reward =
        double{record.pnl} + record.barrier + record.risk + record.diversity + term;
    CheckClose("reward", view_.reward[row_], reward, more);
    if (view_.terms == nullptr) return;
    const double terms[kRewardTerms] = {record.pnl, record.barrier, record.risk, record.diversity,
                                        term};
    for (int i = 0; i < kRewardTerms; ++i) {
      CheckClose(base::StrCat("terms[", i, "]"),
                 view_.terms[row_ * kRewardTerms + static_cast<size_t>(i)], terms[i],
                 i == kRewardTerms - 1 ? more : 0);
    }
  }

  void CheckTd(uint32_t bar, bool terminated, int taken, const std::vector<double>& q) {
    const EnvSettings& settings = rules_.settings;
    const double td = view_.td[row_];
    const double own = q[static_cast<size_t>(taken)];
    double tolerance = below_fp32_ ? kStepTolerance * Range(q).width : 1e-3;
    double computed = std::fabs(view_.reward[row_] - own);
    double off = std::fabs(td - computed);
    if (!terminated) {
      const std::vector<double> state = ReferenceState(
          options_.market, bar + 1, &view_.next_portfolio[row_ * kPortfolioFeatures]);
      const std::vector<double> next = ReferenceQ(target_, q_layers_, state);
      const std::vector<double> choose =
          settings.double_dqn ? ReferenceQ(online_, q_layers_, state) : next;
      const double best = LargestAllowed(settings, choose);
      const double range = Range(choose).width;
      if (below_fp32_) tolerance += settings.gamma * kStepTolerance * Range(next).width;
      // Any action that the precision may have taken for the best.
      off = INFINITY;
      for (int i = 0; i < settings.action_count; ++i) {
        const size_t action = settings.actions[i];
        if (best - choose[action] > kStepTolerance * range) continue;
        const double candidate =
            std::fabs(view_.reward[row_] + settings.gamma * next[action] - own);
        if (std::fabs(td - candidate) < off) {
          off = std::fabs(td - candidate);
          computed = candidate;
        }
      }
    }
    tolerance += 1e-5 + 1e-4 * computed;
    if (!(off <= tolerance)) Fault("td", ValueText(view_.td[row_]), TextOf(computed));
  }

  const CollectorOptions& options_;
  const Parameters& online_;
  const Parameters& target_;
  const Parameters& curiosity_;
  const RecordedLaunch& launch_;
  const BatchView view_;
  const Rules rules_;
  const std::vector<LayerLayout> q_layers_, curiosity_layers_;
  const bool below_fp32_;
  size_t row_ = 0;
  LaunchReplay result_;
};

}  // namespace

LaunchReplay ReplayLaunch(const CollectorOptions& options, const Parameters& online,
                          const Parameters& target, const Parameters& curiosity,
                          const RecordedLaunch& launch, Batch& recorded) {
  return Replay(options, online, target, curiosity, launch, recorded).Run();
}

}  // namespace vixen::kernels
