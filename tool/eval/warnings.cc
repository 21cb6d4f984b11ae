// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/warnings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tool/eval/evidence_warnings.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr double kFewTrades = 30;
constexpr double kMostCostShare = 0.5;
constexpr double kOneActionShare = 0.95;
constexpr double kLeastProfitShare = 0.1;

void Add(Evaluation& evaluation, std::string text) {
  evaluation.warnings.push_back(std::move(text));
}

void WarnOfRuin(Evaluation& evaluation) {
  uint64_t ruined = 0;
  for (const EvaluationPart& part : evaluation.parts) {
    if (!part.ended_by_ruin) continue;
    if (ruined++ == 0) {
      const int64_t time = evaluation.series.time[part.first_step + part.steps - 1];
      Add(evaluation,
          absl::StrCat("Ruined at ", Time(time), ": the equity fell to the ruin level, ", "and ",
                       Plural(part.end - part.begin - 1 - part.steps, "bar"),
                       " of that part were not traded."));
    }
  }
  if (ruined > 1) Add(evaluation, absl::StrCat("In all, ", ruined, " parts ended by ruin."));
}

void WarnOfCosts(Evaluation& evaluation) {
  const Metrics& policy = evaluation.policy;
  const double net = policy[MetricId::kTotalReturn].value.value_or(0) * evaluation.initial_capital;
  const double costs = policy[MetricId::kCosts].value.value_or(0);
  const double gross = net + costs;
  if (gross > 0 && net <= 0) {
    Add(evaluation, absl::StrCat("Costs eat the profit: ", Decimal(gross, 2), " before costs, ",
                                 Decimal(costs, 2), " paid, ", Decimal(net, 2), " left."));
  } else if (gross > 0 && costs / gross > kMostCostShare) {
    Add(evaluation, absl::StrCat("Costs take ", Percent(costs / gross),
                                 " of the profit before costs; a slightly worse fill reverses the "
                                 "result."));
  }
}

void WarnOfFreeTrading(Evaluation& evaluation) {
  if (evaluation.policy[MetricId::kCosts].value.value_or(0) != 0) return;
  Add(evaluation,
      "Nothing was paid: fees and spread are 0 here, which no market grants (--cost_bps, "
      "--spread).");
}

void WarnOfShortSpan(Evaluation& evaluation) {
  constexpr double kShortest = 0.25;
  const double years = evaluation.annualisation.years;
  if (years <= 0 || years >= kShortest) return;
  Add(evaluation, absl::StrFormat("The range spans %.3g days: annual return, volatility and the "
                                  "ratios are what %.3g such stretches in a row would give.",
                                  years * 365.25, 1 / years));
}

// The network sees equity / initial capital, and every episode of a training begins at 1.
void WarnOfFarEquity(Evaluation& evaluation) {
  constexpr double kFar = 2;
  double most = 1, least = 1;
  for (const EvaluationPart& part : evaluation.parts) {
    for (uint64_t step = part.first_step; step < part.first_step + part.steps; ++step) {
      const double ratio = evaluation.series.equity[step] / part.capital;
      most = std::max(most, ratio);
      least = std::min(least, ratio);
    }
  }
  if (most < kFar && least > 1 / kFar) return;
  const double far = most >= kFar ? most : least;
  Add(evaluation, absl::StrFormat("The equity went to %.3g times what an episode begins with: the "
                                  "policy sees that ratio, and shorter training episodes hardly "
                                  "showed it such states.",
                                  far));
}

// Compares the market's direction over the quarters of the range.
void WarnOfOneRegime(Evaluation& evaluation) {
  const auto& series = evaluation.series;
  const size_t n = evaluation.steps();
  if (n < 8 || evaluation.parts.size() > 1) return;
  int rising = 0;
  for (size_t quarter = 0; quarter < 4; ++quarter) {
    const double from =
        quarter == 0 ? evaluation.parts[0].begin_price : series.close[quarter * n / 4 - 1];
    rising += series.close[(quarter + 1) * n / 4 - 1] > from;
  }
  if (rising != 0 && rising != 4) return;
  Add(evaluation, absl::StrCat("One regime only: the market ", rising == 4 ? "rose" : "fell",
                               " in every quarter of this range; nothing is known about another."));
}

void WarnOfOneAction(Evaluation& evaluation) {
  const auto& action = evaluation.action;
  const auto most = std::max_element(action.begin(), action.end());
  const double share =
      static_cast<double>(*most) / static_cast<double>(std::max<uint64_t>(evaluation.steps(), 1));
  if (share < kOneActionShare) return;
  Add(evaluation, absl::StrCat("The policy hardly decides: action ", most - action.begin(), " in ",
                               Percent(share), " of the steps."));
}

void WarnOfReward(Evaluation& evaluation) {
  const double profit = RewardVarianceShares(evaluation.statistics)[0];
  if (profit >= kLeastProfitShare || evaluation.statistics.valid_rows < 2) return;
  Add(evaluation, absl::StrCat("Profit is ", Percent(profit),
                               " of the reward's variance here: a policy trained so learns the "
                               "shaping terms, not the profit (--pnl_scale, preset recommended)."));
}

bool TimesGoBack(const EvaluationSeries& series) {
  return !std::is_sorted(series.time.begin(), series.time.end());
}

void WarnOfCalendar(Evaluation& evaluation) {
  const auto& series = evaluation.series;
  const Annualisation& annualisation = evaluation.annualisation;
  if (TimesGoBack(series)) {
    Add(evaluation, absl::StrCat("The ", evaluation.parts.size(),
                                 " parts overlap in time (several instruments): "
                                 "the curve trades them one after another, which nobody can do."));
  }
  if (evaluation.calendar != "24x7" || annualisation.how.rfind("calendar", 0) != 0) return;
  if (annualisation.years * 365.25 < 14) return;
  const auto weekend = [](int64_t time) {
    const int64_t day = (time / 86'400'000'000'000 + 4) % 7;  // 1970-01-01 was a Thursday
    return day == 6;
  };
  if (std::none_of(series.time.begin(), series.time.end(), weekend)) {
    Add(evaluation,
        "No bar falls on a Saturday, but the year is counted as 24x7: --calendar equity, fx or "
        "futures gives the right Sharpe ratio.");
  }
}

}  // namespace

void AddWarnings(Evaluation& evaluation) {
  WarnOfRuin(evaluation);
  const Metrics& policy = evaluation.policy;
  const double closed = policy[MetricId::kClosedTrades].value.value_or(0);
  const bool traded = closed > 0 || policy[MetricId::kOpenTrades].value.value_or(0) > 0;
  if (!traded) {
    Add(evaluation, "The policy never traded: it stayed flat.");
  } else if (closed < kFewTrades) {
    Add(evaluation,
        absl::StrCat("Few trades: ", Plural(static_cast<uint64_t>(closed), "closed trade"),
                     "; win rate, profit factor and expectancy mean little below ", kFewTrades,
                     "."));
  }
  WarnOfCosts(evaluation);
  if (traded) {
    WarnOfFreeTrading(evaluation);
    WarnOfShortSpan(evaluation);
    WarnOfFarEquity(evaluation);
  }
  AddEvidenceWarnings(traded, evaluation);
  WarnOfOneRegime(evaluation);
  WarnOfOneAction(evaluation);
  if (traded) WarnOfReward(evaluation);
  WarnOfCalendar(evaluation);
  if (evaluation.reward_equity_correlation.has_value() &&
      *evaluation.reward_equity_correlation < 0) {
    Add(evaluation,
        absl::StrFormat(
            "Reward and equity move against each other (correlation %.2f): the policy is paid "
            "for something other than profit.",
            *evaluation.reward_equity_correlation));
  }
}

}  // namespace vixen::tool
