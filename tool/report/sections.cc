// SPDX-License-Identifier: Apache-2.0
#include "tool/report/sections.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tool/eval/summary_text.h"
#include "tool/format.h"
#include "tool/metric_text.h"
#include "tool/report/evaluation_charts.h"
#include "tool/report/html.h"

namespace vixen::tool {
namespace {

const MetricSpec& SpecOf(MetricId id) { return MetricSpecs()[static_cast<size_t>(id)]; }

std::string Figure(const std::string& svg, std::string_view caption = "") {
  std::string html = absl::StrCat("<figure>", svg);
  if (!caption.empty()) html += Element("figcaption", caption);
  return html + "</figure>\n";
}

struct Fact {
  std::string name;
  std::string value;
  std::string beside;
};

std::vector<Fact> FactsOf(const Evaluation& evaluation) {
  const auto text = [](const Metrics& metrics, MetricId id) {
    return MetricText(SpecOf(id), metrics[id]);
  };
  const Metrics& policy = evaluation.policy;
  const Metrics& hold = evaluation.buy_and_hold;
  return {
      {"Total return", text(policy, MetricId::kTotalReturn),
       absl::StrCat("buy-and-hold ", text(hold, MetricId::kTotalReturn))},
      {"Sharpe ratio", text(policy, MetricId::kSharpe),
       absl::StrCat("buy-and-hold ", text(hold, MetricId::kSharpe))},
      {"Maximum drawdown", text(policy, MetricId::kMaxDrawdown),
       absl::StrCat("buy-and-hold ", text(hold, MetricId::kMaxDrawdown))},
      {"Costs", text(policy, MetricId::kCosts),
       absl::StrCat(text(policy, MetricId::kCostsOfCapital), " of capital")},
      {"Closed trades", text(policy, MetricId::kClosedTrades),
       absl::StrCat("win rate ", text(policy, MetricId::kWinRate))},
  };
}

std::string WeightsText(const Evaluation& evaluation) {
  const std::string folds = Plural(evaluation.folds.size(), "fold");
  if (evaluation.fold_weights) return absl::StrCat("other weights for each of ", folds);
  return absl::StrCat(
      "online weights version ", evaluation.identity.online_version,
      evaluation.folds.empty() ? std::string() : absl::StrCat(", the same on ", folds));
}

}  // namespace

std::string TitleOf(const Evaluation& evaluation) {
  const std::string& policy = evaluation.identity.policy;
  const std::string& source = evaluation.identity.dataset_source;
  return absl::StrCat("Policy ", policy.empty() ? "without a name" : policy, " on ",
                      source.empty() ? evaluation.identity.dataset_path : source);
}

std::string HeadSection(const Evaluation& evaluation) {
  const auto& time = evaluation.series.time;
  const int64_t first = evaluation.parts.front().begin_time;
  std::string html = Element("h1", TitleOf(evaluation));
  html +=
      Element("p",
              absl::StrCat(Time(first), " to ", Time(time.back()), " · ", Count(evaluation.steps()),
                           " steps of ", Duration(evaluation.annualisation.bar_seconds), " in ",
                           Plural(evaluation.parts.size(), "part"), " · policy ",
                           PolicyKind(evaluation), " · ", WeightsText(evaluation), " · ",
                           IsUnseen(evaluation) ? "bars not used in training"
                                                : "not separated from the training bars"),
              "sub");
  html += "<dl class=\"facts\">";
  for (const Fact& fact : FactsOf(evaluation)) {
    absl::StrAppend(&html, "<div>", Element("dt", fact.name), Element("dd", fact.value),
                    Element("dd", fact.beside), "</div>");
  }
  html += "</dl>\n";
  if (evaluation.warnings.empty()) return html;
  html += "<section class=\"warnings\"><h2>Read this first</h2><ul>";
  for (const std::string& warning : evaluation.warnings) html += Element("li", warning);
  return html + "</ul></section>\n";
}

std::string CurveSection(const Evaluation& evaluation) {
  std::string html = Element("h2", "Equity");
  html += Element("p",
                  absl::StrCat("After all costs, from ", Decimal(evaluation.initial_capital, 0),
                               evaluation.parts.size() > 1
                                   ? "; each part starts afresh and the curve chains their returns."
                                   : ". Buy-and-hold pays one market order.",
                               evaluation.random_timing.shifts > 0
                                   ? " Grey: where nine tenths of the runs lie that hold the "
                                     "policy’s positions at random times."
                                   : ""),
                  "sub");
  html += Figure(RenderResponsive(EquityChart(evaluation, false)));
  html += "<details><summary>Logarithmic scale</summary>" +
          Figure(RenderResponsive(EquityChart(evaluation, true))) + "</details>\n";
  html += Element("h2", "Drawdown") + Element("p", "Below the highest equity so far.", "sub");
  html += Figure(RenderResponsive(DrawdownChart(evaluation)));

  const size_t trades = evaluation.trades.size() + evaluation.trades_left_out;
  html += Element("h2", "Position on price");
  html +=
      Element("p",
              trades > kMostMarkedTrades
                  ? absl::StrCat("Close of each bar; ", Count(trades),
                                 " trades are too many to mark. Below: exposure, share of equity, "
                                 "averaged where steps are denser than the picture.")
                  : "Close of each bar with the trades. Below: exposure, share of equity.",
              "sub");
  html += Figure(RenderResponsive(PriceChart(evaluation)));
  html += Figure(RenderResponsive(ExposureChart(evaluation)));

  html += Element("h2", "Rolling Sharpe ratio");
  if (const uint64_t window = evaluation.rolling.window; window > 0) {
    html += Element("p",
                    absl::StrCat("Over the last ", Count(window), " steps, a year of ",
                                 Decimal(evaluation.annualisation.steps_a_year, 0),
                                 " steps. Gaps: no return in the window."),
                    "sub");
    html += Figure(RenderResponsive(RollingSharpeChart(evaluation)));
  } else {
    html += Element("p", "Fewer than 120 steps: no window is long enough.", "note");
  }

  html += Element("h2", "Distributions");
  html += "<div class=\"two\"><div>" + Element("h3", "Returns of steps with a position") +
          Figure(RenderResponsive(ReturnDistributionChart(evaluation), /*half=*/true)) +
          "</div><div>" + Element("h3", "Net profit of closed trades") +
          Figure(RenderResponsive(TradeDistributionChart(evaluation), /*half=*/true)) +
          "</div></div>\n";
  return html;
}

std::string MetricSection(const Evaluation& evaluation) {
  const MovingAverageRule& rule = evaluation.moving_average_rule;
  std::string html = Element("h2", "Metrics");
  html += Element(
      "p",
      absl::StrCat("A year has P = ", Decimal(evaluation.annualisation.steps_a_year, 0), " steps (",
                   evaluation.annualisation.how, "). Risk-free rate ",
                   Percent(evaluation.risk_free), ". Mean: long while the mean of the last ",
                   rule.fast, " closes is above that of ", rule.slow,
                   ", else flat. Random: the policy’s own positions and costs moved to "
                   "other times, the median run of ",
                   evaluation.random_timing.shifts,
                   ". – where a value cannot be had; the reason is shown on hover and "
                   "in the file."),
      "sub");
  Table table({{""},
               {"policy"},
               {"buy-and-hold"},
               {"flat"},
               {absl::StrCat("mean ", rule.fast, " / ", rule.slow)},
               {"random"}});
  for (const MetricSpec& spec : MetricSpecs()) {
    std::vector<Cell> cells = {{std::string(spec.title)}};
    for (const Metrics* metrics : {&evaluation.policy, &evaluation.buy_and_hold, &evaluation.flat,
                                   &evaluation.moving_average, &evaluation.random}) {
      Cell cell = MetricCell(spec, (*metrics)[spec.id]);
      if (spec.id == MetricId::kDrawdownDuration && !metrics->recovered) {
        cell.text += ", not recovered";
      }
      cells.push_back(std::move(cell));
    }
    table.Row(std::move(cells));
  }
  html += table.Html();
  const RandomTiming& timing = evaluation.random_timing;
  if (timing.shifts > 0) {
    html +=
        Element("p",
                absl::StrCat("Timing: of ", timing.shifts,
                             " runs with the same positions moved to other times, ",
                             Percent(timing.as_good), " earned at least as much a step (policy ",
                             Percent(timing.mean_return), ", their mean ",
                             Percent(timing.shifted_mean_return), ")."),
                "note");
  }
  if (evaluation.reward_equity_correlation) {
    html += Element("p",
                    absl::StrCat("Correlation of cumulated reward with log equity: ",
                                 Decimal(*evaluation.reward_equity_correlation, 2), "."),
                    "note");
  }
  return html;
}

std::string TrainingSection(const TrainingLog& log) {
  std::string html = Element("h2", "Training");
  html += Element("p", absl::StrCat(Plural(log.rows, "row"), " of the training log."), "sub");
  const std::vector<TrainingChart> charts = TrainingCharts(log);
  if (charts.empty()) return html + Element("p", "It holds no curve that is known.", "note");
  for (const TrainingChart& chart : charts) {
    html += Element("h3", chart.heading) + Figure(RenderResponsive(chart.chart), chart.caption);
  }
  return html;
}

std::string ProvenanceSection(const Evaluation& evaluation) {
  const EvaluationIdentity& identity = evaluation.identity;
  const auto text = [](std::string value) {
    return Cell{.text = value.empty() ? "\u2013" : std::move(value), .style = "text"};
  };
  std::string html = Element("h2", "Where this comes from");
  Table table({});
  table.Row({{"Dataset"}, text(identity.dataset_path)});
  table.Row({{"Source"}, text(identity.dataset_source)});
  table.Row({{"Dataset fingerprint"}, text(identity.dataset_fingerprint)});
  table.Row({{"Scaler fingerprint"}, text(identity.scaler_fingerprint)});
  table.Row(
      {{"Bars evaluated"},
       text(absl::StrCat(
           Count(evaluation.begin), " to ", Count(evaluation.end), " of ",
           Count(identity.dataset_bars), " in ", Plural(identity.dataset_segments, "segment"),
           identity.train_rows ? absl::StrCat(", training rows 0 to ", Count(*identity.train_rows))
                               : std::string(", no split recorded")))});
  table.Row({{"Weights"}, text(identity.weights_path)});
  if (identity.trained_on) {
    table.Row({{"Trained on"},
               text(*identity.trained_on != identity.dataset_fingerprint
                        ? absl::StrCat("another dataset, ", *identity.trained_on)
                    : identity.trained_to
                        ? absl::StrCat("this dataset, up to bar ", Count(*identity.trained_to))
                        : std::string("this dataset"))});
  }
  table.Row(
      {{"Versions"},
       text(absl::StrCat("online ", identity.online_version, ", target ", identity.target_version,
                         ", curiosity ", identity.curiosity_version))});
  table.Row({{"Training step"}, text(identity.training_step)});
  table.Row({{"Network"}, text(identity.architecture)});
  table.Row({{"Computed by"},
             text(absl::StrCat("vixen ", identity.software_version, ", ", identity.precision, ", ",
                               identity.device))});
  table.Row({{"Books"},
             text(absl::StrCat("rebuilt in float64 from the executor’s rows; largest difference ",
                               Significant(evaluation.largest_equity_difference, 2),
                               " of the capital"))});
  html += table.Html();
  Table settings({{"setting"}, {"value", "text"}});
  for (const auto& [name, value] : evaluation.settings) settings.Row({{name}, text(value)});
  html += absl::StrCat("<details><summary>Settings of the environment (",
                       EscapeMarkup(evaluation.settings_origin), ")</summary>", settings.Html(),
                       "</details>\n");
  return html;
}

}  // namespace vixen::tool
