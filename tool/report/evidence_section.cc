// SPDX-License-Identifier: Apache-2.0
// How far the result can be trusted: intervals, folds, seeds, costs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tool/eval/summary_text.h"
#include "tool/format.h"
#include "tool/metric_text.h"
#include "tool/report/html.h"
#include "tool/report/sections.h"
#include "tool/report/whisker_chart.h"

namespace vixen::tool {
namespace {

const MetricSpec& SpecOf(MetricId id) { return MetricSpecs()[static_cast<size_t>(id)]; }

Cell CellOf(const Metrics& metrics, MetricId id) { return MetricCell(SpecOf(id), metrics[id]); }

std::string IntervalText(MetricId id, const std::optional<Interval>& interval) {
  if (!interval) return "\u2013";
  const MetricSpec& spec = SpecOf(id);
  return absl::StrCat(MetricText(spec, {interval->low, ""}), " … ",
                      MetricText(spec, {interval->high, ""}));
}

std::vector<Whisker> ReturnWhiskers(const Evaluation& evaluation) {
  const Bootstrap& bootstrap = evaluation.bootstrap;
  const RandomTiming& timing = evaluation.random_timing;
  const auto total = [](const Metrics& metrics) { return metrics[MetricId::kTotalReturn].value; };
  std::vector<Whisker> rows;
  if (bootstrap.policy[0]) {
    rows.push_back({"policy", "policy", bootstrap.policy[0]->low, bootstrap.policy[0]->high,
                    total(evaluation.policy)});
  }
  if (bootstrap.buy_and_hold[0]) {
    rows.push_back({"buy-and-hold", "hold", bootstrap.buy_and_hold[0]->low,
                    bootstrap.buy_and_hold[0]->high, total(evaluation.buy_and_hold)});
  }
  if (timing.shifts > 0) {
    rows.push_back({"random timing", "flat", timing.total_return[0], timing.total_return[2],
                    timing.total_return[1]});
  }
  return rows;
}

std::string IntervalPart(const Evaluation& evaluation) {
  const Bootstrap& bootstrap = evaluation.bootstrap;
  std::string html = Element("h3", "Intervals");
  if (bootstrap.resamples == 0) {
    return html + Element("p", absl::StrCat("None: ", bootstrap.reason, "."), "note");
  }
  html += Element(
      "p",
      absl::StrCat(Decimal(bootstrap.level * 100, 0), " % of ", Count(bootstrap.resamples),
                   " resamples of the steps (stationary bootstrap, blocks of ",
                   Significant(bootstrap.block_length, 3), " steps in the mean",
                   bootstrap.block_length_given ? ", as given" : ", Politis and White’s rule",
                   ", seed ", bootstrap.seed,
                   evaluation.seeds.size() > 1 ? ", each of one seed’s run" : "",
                   "); random timing: 5 to 95 % of ", evaluation.random_timing.shifts, " runs. ",
                   Percent(bootstrap.share_of_losses), " of the resamples did not gain, ",
                   Percent(bootstrap.share_not_better), " did not beat buy-and-hold."),
      "sub");
  html += absl::StrCat("<figure>",
                       RenderWhiskers("Total return with its interval", ReturnWhiskers(evaluation),
                                      AxisFormat::kPercent),
                       Element("figcaption",
                               "Total return; the dot is what came out, of random "
                               "timing the median."),
                       "</figure>\n");
  Table table({{""}, {"policy"}, {"interval"}, {"buy-and-hold"}, {"interval"}, {"difference"}});
  for (size_t i = 0; i < kIntervalMetrics.size(); ++i) {
    const MetricId id = kIntervalMetrics[i];
    table.Row({{std::string(SpecOf(id).title)},
               CellOf(evaluation.policy, id),
               {IntervalText(id, bootstrap.policy[i])},
               CellOf(evaluation.buy_and_hold, id),
               {IntervalText(id, bootstrap.buy_and_hold[i])},
               {IntervalText(id, bootstrap.difference[i])}});
  }
  return html + table.Html();
}

std::string SpreadText(const std::vector<const Metrics*>& runs, MetricId id) {
  const Spread spread = SpreadOf(runs, id);
  const MetricSpec& spec = SpecOf(id);
  if (spread.count == 0) return absl::StrCat(std::string(spec.title), " \u2013");
  return absl::StrCat(std::string(spec.title), ": mean ", MetricText(spec, {spread.mean, ""}),
                      ", deviation ", MetricText(spec, {spread.deviation, ""}), ", ",
                      MetricText(spec, {spread.least, ""}), " to ",
                      MetricText(spec, {spread.most, ""}), ".");
}

std::string TrainedTo(const Evaluation& evaluation, const EvaluationFold& fold) {
  if (fold.trained_on && *fold.trained_on != evaluation.identity.dataset_fingerprint) {
    return "another dataset";
  }
  return fold.trained_to ? Count(*fold.trained_to) : "not said";
}

std::string FoldPart(const Evaluation& evaluation) {
  if (evaluation.folds.empty()) return "";
  const size_t count = evaluation.folds.size();
  std::string html = Element("h3", absl::StrCat("Walk-forward: ", Plural(count, "fold")));
  html +=
      Element("p",
              evaluation.fold_weights
                  ? "A policy a fold: each stretch of the bars has weights of its own, given in "
                    "order of time. Each fold begins flat."
                  : "The same policy on all folds: stretches of the bars one after another, "
                    "not trained again in between. Each fold begins flat.",
              "sub");
  Table table({{"#"},
               {"from"},
               {"to"},
               {"steps"},
               {"version"},
               {"trained to bar"},
               {"policy"},
               {"buy-and-hold"},
               {"Sharpe"},
               {"drawdown"},
               {"trades"}});
  std::vector<const Metrics*> runs;
  for (const EvaluationFold& fold : evaluation.folds) {
    runs.push_back(&fold.policy);
    Cell own = CellOf(fold.policy, MetricId::kTotalReturn);
    own.style = BeatsBuyAndHold(fold) ? "gain" : "loss";
    table.Row({{absl::StrCat(runs.size())},
               {Date(fold.begin_time)},
               {Date(fold.end_time)},
               {Count(fold.steps)},
               {.text = absl::StrCat(fold.online_version), .title = fold.weights},
               {TrainedTo(evaluation, fold)},
               std::move(own),
               CellOf(fold.buy_and_hold, MetricId::kTotalReturn),
               CellOf(fold.policy, MetricId::kSharpe),
               CellOf(fold.policy, MetricId::kMaxDrawdown),
               CellOf(fold.policy, MetricId::kClosedTrades)});
  }
  html += table.Html();
  const auto beating =
      std::count_if(evaluation.folds.begin(), evaluation.folds.end(), BeatsBuyAndHold);
  html += Element("p",
                  absl::StrCat(SpreadText(runs, MetricId::kTotalReturn), " ",
                               SpreadText(runs, MetricId::kSharpe), " Better than buy-and-hold in ",
                               beating, " of ", count, "."),
                  "note");
  return html;
}

std::string SeedPart(const Evaluation& evaluation) {
  if (evaluation.seeds.size() < 2) return "";
  std::string html = Element("h3", absl::StrCat("Seeds: ", PolicyKind(evaluation)));
  html += Element("p", "Curve, trades and the other tables are of the first seed.", "sub");
  Table table({{"seed"}, {"total return"}, {"Sharpe"}, {"drawdown"}, {"trades"}, {"costs"}});
  std::vector<const Metrics*> runs;
  for (const EvaluationSeed& seed : evaluation.seeds) {
    runs.push_back(&seed.metrics);
    if (runs.size() > 20) continue;  // the summary has all, the file too
    table.Row({{absl::StrCat(seed.seed)},
               CellOf(seed.metrics, MetricId::kTotalReturn),
               CellOf(seed.metrics, MetricId::kSharpe),
               CellOf(seed.metrics, MetricId::kMaxDrawdown),
               CellOf(seed.metrics, MetricId::kClosedTrades),
               CellOf(seed.metrics, MetricId::kCosts)});
  }
  html += table.Html();
  return html + Element("p",
                        absl::StrCat(SpreadText(runs, MetricId::kTotalReturn), " ",
                                     SpreadText(runs, MetricId::kSharpe)),
                        "note");
}

std::string CostPart(const Evaluation& evaluation) {
  if (evaluation.cost_scales.size() < 2) return "";
  std::string html = Element("h3", "Costs");
  html += Element("p",
                  "The same policy with every fee, the spread and borrowing multiplied, run again: "
                  "it decides anew on what it then has.",
                  "sub");
  Table table({{"costs"}, {"total return"}, {"Sharpe"}, {"drawdown"}, {"paid"}, {"trades"}});
  for (const CostScale& scaled : evaluation.cost_scales) {
    table.Row({{absl::StrCat("×", scaled.scale)},
               CellOf(scaled.metrics, MetricId::kTotalReturn),
               CellOf(scaled.metrics, MetricId::kSharpe),
               CellOf(scaled.metrics, MetricId::kMaxDrawdown),
               CellOf(scaled.metrics, MetricId::kCosts),
               CellOf(scaled.metrics, MetricId::kClosedTrades)});
  }
  return html + table.Html();
}

}  // namespace

std::string EvidenceSection(const Evaluation& evaluation) {
  return Element("h2", "How far to trust it") + IntervalPart(evaluation) + FoldPart(evaluation) +
         SeedPart(evaluation) + CostPart(evaluation);
}

}  // namespace vixen::tool
