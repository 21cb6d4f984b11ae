// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/summary_text.h"

#include "base/str_cat.h"
#include "tool/format.h"
#include "tool/metric_text.h"

namespace vixen::tool {
namespace {

constexpr size_t kNameWidth = 26;
constexpr size_t kColumnWidth = 16;

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

}  // namespace

std::string SummaryText(const Evaluation& evaluation) {
  const EvaluationIdentity& identity = evaluation.identity;
  const bool unseen = identity.train_rows.has_value() && evaluation.begin >= *identity.train_rows;
  std::string text = base::StrCat(
      "Policy ", identity.policy.empty() ? "without a name" : identity.policy, ", online version ",
      identity.online_version, ", on ", identity.dataset_source, "\n",
      Time(evaluation.parts.front().begin_time), " to ", Time(evaluation.series.time.back()), ", ",
      Plural(evaluation.steps(), "step"), " of ", Duration(evaluation.annualisation.bar_seconds),
      " in ", Plural(evaluation.parts.size(), "part"), "; bars ", evaluation.begin, ":",
      evaluation.end, unseen ? ", not used in training" : ", NOT separated from training", "\n");
  base::StrAppend(&text, Left("", kNameWidth), Right("policy", kColumnWidth),
                  Right("buy-and-hold", kColumnWidth), Right("flat", kColumnWidth), "\n");
  for (const MetricId id :
       {MetricId::kTotalReturn, MetricId::kAnnualReturn, MetricId::kSharpe, MetricId::kMaxDrawdown,
        MetricId::kExposureTime, MetricId::kTurnoverYear, MetricId::kCosts, MetricId::kClosedTrades,
        MetricId::kWinRate, MetricId::kProfitFactor}) {
    const MetricSpec& spec = MetricSpecs()[static_cast<size_t>(id)];
    base::StrAppend(&text, Left(std::string(spec.title), kNameWidth));
    for (const Metrics* metrics :
         {&evaluation.policy, &evaluation.buy_and_hold, &evaluation.flat}) {
      base::StrAppend(&text, Right(MetricText(spec, (*metrics)[id]), kColumnWidth));
    }
    text += '\n';
  }
  base::StrAppend(&text, "A year is ", Decimal(evaluation.annualisation.steps_a_year, 0),
                  " steps (", evaluation.annualisation.how, "); all after costs.\n");
  for (const std::string& warning : evaluation.warnings) {
    base::StrAppend(&text, "! ", warning, "\n");
  }
  return text;
}

}  // namespace vixen::tool
