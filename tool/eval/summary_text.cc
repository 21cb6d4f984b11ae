// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/summary_text.h"

#include "base/str_cat.h"
#include "tool/format.h"
#include "tool/metric_text.h"

namespace vixen::tool {
namespace {

constexpr size_t kNameWidth = 26;
constexpr size_t kColumnWidth = 14;

// Counts characters, not bytes: minus and dash are three bytes each.
size_t Width(const std::string& text) {
  size_t width = 0;
  for (const char c : text) width += (c & 0xC0) != 0x80;
  return width;
}

std::string Right(const std::string& text, size_t width) {
  const size_t used = Width(text);
  return std::string(used < width ? width - used : 1, ' ') + text;
}

std::string Left(const std::string& text, size_t width) {
  const size_t used = Width(text);
  return text + std::string(used < width ? width - used : 1, ' ');
}

std::string PolicyLine(const Evaluation& evaluation) {
  const EvaluationIdentity& identity = evaluation.identity;
  std::string text =
      base::StrCat("Policy ", identity.policy.empty() ? "without a name" : identity.policy);
  if (evaluation.fold_weights) {
    base::StrAppend(&text, ", other weights for each of ", evaluation.folds.size(), " folds");
  } else {
    base::StrAppend(&text, ", online version ", identity.online_version);
    if (!evaluation.folds.empty()) {
      base::StrAppend(&text, ", the same weights on ", evaluation.folds.size(), " folds");
    }
  }
  base::StrAppend(&text, ", ", PolicyKind(evaluation), ", on ", identity.dataset_source, "\n");
  return text;
}

std::string Return(const Metrics& metrics) {
  const MetricSpec& spec = MetricSpecs()[static_cast<size_t>(MetricId::kTotalReturn)];
  return MetricText(spec, metrics[MetricId::kTotalReturn]);
}

// Intervals, costs, folds and seeds, a line each.
std::string Evidence(const Evaluation& evaluation) {
  std::string text;
  const Bootstrap& bootstrap = evaluation.bootstrap;
  if (bootstrap.resamples > 0 && bootstrap.policy[0]) {
    const Interval& total = *bootstrap.policy[0];
    base::StrAppend(&text, Percent(bootstrap.level), " interval of the total return ",
                    Percent(total.low, true), " to ", Percent(total.high, true), ": ",
                    Count(bootstrap.resamples), " resamples, blocks of ",
                    Significant(bootstrap.block_length, 3), " steps in the mean, seed ",
                    bootstrap.seed, ".\n");
  }
  if (evaluation.cost_scales.size() > 1) {
    text += "Total return with costs";
    for (const CostScale& scaled : evaluation.cost_scales) {
      base::StrAppend(&text, &scaled == &evaluation.cost_scales[0] ? " ×" : ", ×", scaled.scale,
                      " ", Return(scaled.metrics));
    }
    text += ".\n";
  }
  for (const EvaluationFold& fold : evaluation.folds) {
    base::StrAppend(&text, "Fold ", &fold - evaluation.folds.data() + 1, ", bars ", fold.begin, ":",
                    fold.end, ": ", Return(fold.policy), ", buy-and-hold ",
                    Return(fold.buy_and_hold), "\n");
  }
  if (evaluation.seeds.size() > 1) {
    text += "Seeds:";
    for (const EvaluationSeed& seed : evaluation.seeds) {
      base::StrAppend(&text, " ", Return(seed.metrics));
    }
    text += "; the table is of the first.\n";
  }
  return text;
}

}  // namespace

std::string PolicyKind(const Evaluation& evaluation) {
  if (evaluation.epsilon == 0) return "greedy";
  return base::StrCat("random in ", Percent(evaluation.epsilon), " of its steps, ",
                      Plural(evaluation.seeds.size(), "run"));
}

std::string SummaryText(const Evaluation& evaluation) {
  std::string text = PolicyLine(evaluation);
  base::StrAppend(
      &text, Time(evaluation.parts.front().begin_time), " to ", Time(evaluation.series.time.back()),
      ", ", Plural(evaluation.steps(), "step"), " of ",
      Duration(evaluation.annualisation.bar_seconds), " in ",
      Plural(evaluation.parts.size(), "part"), "; bars ", evaluation.begin, ":", evaluation.end,
      IsUnseen(evaluation) ? ", not used in training" : ", NOT separated from training", "\n");
  text += Left("", kNameWidth);
  for (const char* name : {"policy", "buy-and-hold", "flat", "mean rule", "random"}) {
    text += Right(name, kColumnWidth);
  }
  text += '\n';
  for (const MetricId id :
       {MetricId::kTotalReturn, MetricId::kAnnualReturn, MetricId::kSharpe, MetricId::kMaxDrawdown,
        MetricId::kExposureTime, MetricId::kTurnoverYear, MetricId::kCosts, MetricId::kClosedTrades,
        MetricId::kWinRate, MetricId::kProfitFactor}) {
    const MetricSpec& spec = MetricSpecs()[static_cast<size_t>(id)];
    base::StrAppend(&text, Left(std::string(spec.title), kNameWidth));
    for (const Metrics* metrics : {&evaluation.policy, &evaluation.buy_and_hold, &evaluation.flat,
                                   &evaluation.moving_average, &evaluation.random}) {
      base::StrAppend(&text, Right(MetricText(spec, (*metrics)[id]), kColumnWidth));
    }
    text += '\n';
  }
  base::StrAppend(&text, "A year is ", Decimal(evaluation.annualisation.steps_a_year, 0),
                  " steps (", evaluation.annualisation.how, "); all after costs.\n");
  text += Evidence(evaluation);
  for (const std::string& warning : evaluation.warnings) {
    base::StrAppend(&text, "! ", warning, "\n");
  }
  return text;
}

}  // namespace vixen::tool
