// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include "tests/tool/eval/worked_example.h"
#include "tests/tool/hand_made.h"
#include "tests/tool/markup.h"
#include "tool/eval/curves.h"
#include "tool/eval/evaluator.h"
#include "tool/format.h"
#include "tool/report/axis.h"
#include "tool/report/evaluation_charts.h"
#include "tool/report/page.h"
#include "tool/report/svg_chart.h"
#include "tool/report/training_log.h"
#include "tool/report/whisker_chart.h"

namespace vixen::tool {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kDay = 86'400e9;

std::vector<std::string> Labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

Chart LineChart(std::vector<double> x, std::vector<double> y) {
  Chart chart;
  chart.title = "test";
  chart.x_format = AxisFormat::kNumber;
  chart.series.push_back({"a", "policy", Mark::kLine, std::move(x), std::move(y)});
  return chart;
}

Evaluation SomeEvaluation(size_t bars = 400, std::vector<uint8_t> actions = {}) {
  std::vector<double> closes;
  for (size_t i = 0; i < bars; ++i)
    closes.push_back(100 + 5 * std::sin(0.05 * static_cast<double>(i)));
  EvaluatorOptions options;
  options.dataset = DailyDataset({closes});
  options.range = {0, bars};
  options.weights = ConstantPolicy(1, 37);
  if (actions.empty()) {
    for (size_t i = 0; i + 1 < bars; ++i)
      actions.push_back((i / 20) % 3 == 0 ? 37 : (i / 20) % 3 == 1 ? 1 : 19);
  }
  options.scripted = actions;
  Evaluation evaluation = Evaluate(options).value();
  evaluation.identity.software_version = "0.1.0";
  evaluation.identity.dataset_source = "made by hand";
  evaluation.identity.policy = "p";
  evaluation.settings = {{"spread", "0.0002"}};
  return evaluation;
}

TEST(Axis, LinearTicksAreRoundNumbers) {
  EXPECT_THAT(Labels(LinearTicks(0, 10, 5, AxisFormat::kNumber)),
              ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(Labels(LinearTicks(-0.031, 0.012, 4, AxisFormat::kPercent)),
              ElementsAre("−2 %", "0 %"));
  EXPECT_THAT(Labels(LinearTicks(98'000, 103'000, 5, AxisFormat::kMoney)),
              ElementsAre("98,000", "99,000", "100,000", "101,000", "102,000", "103,000"));
  EXPECT_EQ(LinearTicks(5, 5, 5, AxisFormat::kNumber).size(), 1u);
}

TEST(Axis, CountsHaveWholeTicks) {
  for (const Tick& tick : LinearTicks(0, 2, 8, AxisFormat::kCount)) {
    EXPECT_EQ(tick.value, std::floor(tick.value));
  }
}

TEST(Axis, LogTicksArePowersAndTheirFolds) {
  EXPECT_THAT(Labels(LogTicks(1, 1000, 12, AxisFormat::kNumber)),
              ElementsAre("1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000"));
  EXPECT_GE(LogTicks(1e-8, 1e8, 5, AxisFormat::kNumber).size(), 3u);
}

TEST(Axis, TimeTicksFallOnCalendarBorders) {
  const double start = 1'483'228'800e9;  // 2017-01-01
  EXPECT_THAT(Labels(TimeTicks(start, start + 365 * kDay, 5)),
              ElementsAre("2017-01", "2017-04", "2017-07", "2017-10", "2018-01"));
  EXPECT_THAT(Labels(TimeTicks(start, start + 20 * 365.25 * kDay, 5)),
              ElementsAre("2020", "2025", "2030", "2035"));
  EXPECT_THAT(Labels(TimeTicks(start + 3600e9, start + 4 * 3600e9, 4)),
              ElementsAre("01:00", "02:00", "03:00", "04:00"));
}

TEST(Downsample, KeepsFirstLastAndExtremes) {
  std::vector<double> y(100'000);
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::sin(static_cast<double>(i) * 0.001);
  y[54'321] = 9;
  y[12'345] = -9;
  const std::vector<size_t> kept = Downsample(y, 1'000);
  EXPECT_LE(kept.size(), 1'002u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), y.size() - 1);
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), size_t{54'321}));
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), size_t{12'345}));
}

TEST(Downsample, LeavesShortCurvesAlone) {
  EXPECT_THAT(Downsample({3, 1, 2}, 100), ElementsAre(0, 1, 2));
}

TEST(SvgChart, IsWellFormedForEveryKindOfMark) {
  for (const Mark mark : {Mark::kLine, Mark::kArea, Mark::kSignedArea, Mark::kBars, Mark::kUp,
                          Mark::kDown, Mark::kCross}) {
    Chart chart = LineChart({1, 2, 3, 4}, {1, -2, 3, 0});
    chart.series[0].mark = mark;
    chart.zero_line = true;
    const std::string svg = RenderResponsive(chart);
    EXPECT_EQ(MarkupFault(svg), "") << static_cast<int>(mark);
    EXPECT_THAT(svg, HasSubstr("class=\"wide\""));
    EXPECT_THAT(svg, HasSubstr("class=\"narrow\""));
  }
}

TEST(SvgChart, EscapesWhatComesFromOutside) {
  Chart chart = LineChart({1, 2}, {1, 2});
  chart.title = "\"><script>alert(1)</script>";
  chart.series[0].name = "<b>&\"'";
  const std::string svg = RenderChart(chart, 1000, 100);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_EQ(MarkupFault(svg), "");
}

TEST(SvgChart, BreaksALineAtGaps) {
  const std::string svg = RenderChart(LineChart({1, 2, 3, 4, 5}, {1, 2, kNaN, 4, 5}), 1000, 100);
  const size_t at = svg.find("class=\"line policy\"");
  const std::string path = svg.substr(at, svg.find("/>", at) - at);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
  EXPECT_THAT(path, Not(HasSubstr("nan")));
}

TEST(SvgChart, DrawsABandBetweenTwoCurves) {
  Chart chart = LineChart({1, 2, 3}, {1, 2, 1});
  chart.series[0].mark = Mark::kBand;
  chart.series[0].y2 = {5, 9, 5};
  const std::string svg = RenderChart(chart, 1000, 100);
  EXPECT_EQ(MarkupFault(svg), "");
  EXPECT_THAT(svg, HasSubstr("class=\"area policy\""));
  EXPECT_THAT(svg, HasSubstr(">8<"));  // the axis reaches the upper curve
}

TEST(SvgChart, BreaksALegendThatIsWiderThanAPhone) {
  Chart chart = LineChart({1, 2}, {1, 2});
  for (int i = 0; i < 5; ++i) chart.series.push_back(chart.series[0]);
  for (ChartSeries& series : chart.series) series.name = "a longer name";
  const std::string svg = RenderChart(chart, 380, 100);
  const std::regex place("translate\\(([0-9.]+) ([0-9.]+)\\)");
  std::set<std::string> rows;
  for (std::sregex_iterator at(svg.begin(), svg.end(), place), end; at != end; ++at) {
    EXPECT_LT(std::stod((*at)[1]) + 20 + 6 * 13, 380);
    rows.insert((*at)[2]);
  }
  EXPECT_EQ(rows.size(), 2u);
}

TEST(Whiskers, ShowRangeAndValueOfEachRowAndNothingElse) {
  const std::string svg = RenderWhiskers(
      "t<", {{"a&b", "policy", -0.1, 0.2, 0.05}, {"c", "hold", 0.1, 0.3, std::nullopt}},
      AxisFormat::kPercent);
  EXPECT_EQ(MarkupFault(svg), "");
  EXPECT_THAT(svg, HasSubstr("a&amp;b"));
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, 2u);  // one row has a value, in the wide and in the narrow picture
  EXPECT_THAT(RenderWhiskers("t", {}, AxisFormat::kPercent), HasSubstr("No data"));
}

TEST(SvgChart, SaysSoWithoutData) {
  EXPECT_THAT(RenderChart(LineChart({}, {}), 1000, 100), HasSubstr("No data"));
  EXPECT_THAT(RenderResponsive(LineChart({1, 2}, {kNaN, kNaN})), HasSubstr("No data"));
}

TEST(SvgChart, DrawsConstantAndSinglePointCurves) {
  for (const Chart& chart :
       {LineChart({1, 2}, {0, 0}), LineChart({7}, {3}), LineChart({1, 2}, {1e-300, 1e300})}) {
    const std::string svg = RenderChart(chart, 1000, 100);
    EXPECT_EQ(MarkupFault(svg), "");
    EXPECT_THAT(svg, HasSubstr("<path"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(SvgChart, IgnoresALogarithmicScaleForValuesNotAboveZero) {
  Chart chart = LineChart({1, 2}, {-1, 10});
  chart.y_log = true;
  EXPECT_THAT(RenderChart(chart, 1000, 100), Not(HasSubstr("nan")));
}

TEST(Report, HasEverySectionAndIsWellFormed) {
  const std::string page = RenderReport({SomeEvaluation()}, std::nullopt);
  for (const char* heading :
       {"Equity", "Drawdown", "Position on price", "Rolling Sharpe ratio", "Distributions",
        "Metrics", "How far to trust it", "Trades", "What the policy does",
        "What the reward is made of", "Where this comes from"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<h2>") + heading + "</h2>"));
  }
  EXPECT_EQ(
      MarkupFault(page.substr(page.find("<body>"), page.find("</html>") - page.find("<body>"))),
      "");
}

TEST(Report, ReachesForNothingOutside) {
  std::string page = RenderReport({SomeEvaluation()}, std::nullopt);
  page = std::regex_replace(page, std::regex("xmlns=\"http://www.w3.org/2000/svg\""), "");
  for (const char* text : {"http:", "https:", "<script", "<link", "@import", "url(", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(text))) << text;
  }
}

TEST(Report, ShowsNoNaNOrInfinity) {
  for (const Evaluation& evaluation :
       {SomeEvaluation(), SomeEvaluation(3, {19, 19}), SomeEvaluation(2, {37}),
        SomeEvaluation(300, std::vector<uint8_t>(299, 19)),
        SomeEvaluation(300, std::vector<uint8_t>(299, 37))}) {
    const std::string page = RenderReport({evaluation}, std::nullopt);
    EXPECT_FALSE(std::regex_search(page, std::regex("[^a-z](nan|inf)[^a-z]", std::regex::icase)));
    EXPECT_EQ(
        MarkupFault(page.substr(page.find("<body>"), page.find("</html>") - page.find("<body>"))),
        "");
  }
}

TEST(Report, EscapesEveryTextOfTheFile) {
  const std::string evil = "<img src=x onerror=alert(1)>\"'&";
  Evaluation evaluation = SomeEvaluation();
  evaluation.identity = {evil, evil, evil, evil, evil, 1, 1,    0,    evil, 0,
                         evil, evil, evil, 1,    1,    1, evil, evil, evil};
  evaluation.settings = {{evil, evil}};
  evaluation.settings_origin = evil;
  evaluation.annualisation.how = evil;
  evaluation.warnings = {evil};
  evaluation.policy[MetricId::kSharpe] = {std::nullopt, evil};
  const std::string page = RenderReport({evaluation, evaluation}, std::nullopt);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_EQ(
      MarkupFault(page.substr(page.find("<body>"), page.find("</html>") - page.find("<body>"))),
      "");
}

TEST(Report, SaysWhetherAPolicyServesAllFoldsOrEachHasItsOwn) {
  EvaluatorOptions options;
  std::vector<double> closes;
  for (int i = 0; i < 300; ++i) closes.push_back(100 + 5 * std::sin(0.05 * i));
  options.dataset = DailyDataset({closes});
  options.range = {0, 300};
  options.weights = ConstantPolicy(1, 37);
  options.folds = 3;
  options.epsilon = 0.1f;
  options.seeds = 2;
  std::string page = RenderReport({Evaluate(options).value()}, std::nullopt);
  EXPECT_THAT(page, HasSubstr("Walk-forward: 3 folds"));
  EXPECT_THAT(page, HasSubstr("The same policy on all folds"));
  EXPECT_THAT(page, HasSubstr("Seeds: random in 10.00 % of its steps, 2 runs"));
  EXPECT_THAT(page, HasSubstr("\u00d74</td>"));  // costs
  EXPECT_THAT(page, HasSubstr("stationary bootstrap"));
  options.fold_weights = {ConstantPolicy(1, 37), ConstantPolicy(1, 19), ConstantPolicy(1, 1)};
  page = RenderReport({Evaluate(options).value()}, std::nullopt);
  EXPECT_THAT(page, HasSubstr("A policy a fold"));
  EXPECT_EQ(
      MarkupFault(page.substr(page.find("<body>"), page.find("</html>") - page.find("<body>"))),
      "");
}

TEST(Report, ComparesSeveralEvaluations) {
  const std::string page = RenderReport({SomeEvaluation(), SomeEvaluation(200)}, std::nullopt);
  EXPECT_THAT(page, HasSubstr("Comparison of 2 evaluations"));
}

TEST(Report, StaysSmallForAManyYearsOfMinutes) {
  Evaluation evaluation = SomeEvaluation();
  auto& series = evaluation.series;
  const size_t n = 1'000'000;
  const int64_t start = series.time[0];
  const auto grow = [n](std::vector<double>& values) {
    const std::vector<double> small = values;
    values.resize(n);
    for (size_t i = 0; i < n; ++i) values[i] = small[i % small.size()];
  };
  for (auto* values : {&series.close, &series.position, &series.exposure, &series.equity,
                       &series.buy_and_hold, &series.moving_average}) {
    grow(*values);
  }
  series.time.resize(n);
  for (size_t i = 0; i < n; ++i) series.time[i] = start + static_cast<int64_t>(i) * 60'000'000'000;
  evaluation.parts[0].steps = n;
  for (int i = 0; i < 20'000; ++i) evaluation.trades.push_back(evaluation.trades[0]);
  DescribeCurves(evaluation);
  EXPECT_LT(RenderReport({evaluation}, std::nullopt).size(), 5u << 20);
  Compact(evaluation);
  const std::string page = RenderReport({evaluation}, std::nullopt);
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_THAT(page, HasSubstr("1,000,000 steps"));
  EXPECT_THAT(page, HasSubstr("The last 200 of 20,014"));
}

TEST(TrainingLog, ReadsNestedNumbersAndSkipsALastLineCutShort) {
  const auto log = ParseTrainingLog(
      "{\"updates\":1,\"loss\":0.5,\"reward\":{\"pnl\":0.1},\"note\":\"x\"}\n\n"
      "{\"updates\":2,\"loss\":0.25,\"reward\":{\"pnl\":0.2}}\n{\"upda",
      "t.jsonl");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->rows, 2u);
  EXPECT_EQ(log->unreadable, 1u);
  EXPECT_THAT(log->curves.at("reward.pnl").value, ElementsAre(0.1, 0.2));
}

TEST(TrainingLog, NamesTheLineThatIsNoObject) {
  const auto log = ParseTrainingLog("{}\nfour\n{}\n", "t.jsonl");
  EXPECT_EQ(log.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(log.status().message()), HasSubstr("t.jsonl line 2"));
}

TEST(TrainingLog, GivesChartsOfWhatItHas) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += "{\"updates\":" + std::to_string(i) +
            ",\"loss\":0.5,\"epsilon\":0.1,\"score\":0.9,\"reward\":{\"pnl\":0.1,\"risk\":-0.2}}\n";
  }
  const TrainingLog log = ParseTrainingLog(text, "t").value();
  std::vector<std::string> headings;
  for (const TrainingChart& chart : TrainingCharts(log)) {
    headings.push_back(chart.heading);
    EXPECT_EQ(MarkupFault(RenderResponsive(chart.chart)), "");
  }
  EXPECT_THAT(headings, ElementsAre("Loss", "Reward by term", "Score", "Exploration ε"));
  EXPECT_TRUE(TrainingCharts(TrainingLog()).empty());
}

TEST(Format, WritesNumbersAsPeopleReadThem) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1'234'567), "1,234,567");
  EXPECT_EQ(Decimal(-1234.5, 2), "−1,234.50");
  EXPECT_EQ(Decimal(-0.001, 2), "0.00");
  EXPECT_EQ(Percent(0.02764), "2.76 %");
  EXPECT_EQ(Percent(4.306e18), "4.306e+20 %");
  EXPECT_EQ(Percent(99'999.0), "9,999,900.00 %");
  EXPECT_EQ(Percent(-0.02764, true), "−2.76 %");
  EXPECT_EQ(Percent(0.02764, true), "+2.76 %");
  EXPECT_EQ(Percent(0.0000123), "0.0012 %");
  EXPECT_EQ(Significant(0.00123456), "0.001235");
  EXPECT_EQ(Significant(12'345.6), "12,346");
  EXPECT_EQ(Time(0), "1970-01-01");
  EXPECT_EQ(Time(-1'000'000'000), "1969-12-31 23:59:59Z");
  EXPECT_EQ(Time(1'700'000'000'000'000'000), "2023-11-14 22:13:20Z");
  EXPECT_EQ(Duration(60), "1 min");
  EXPECT_EQ(Duration(86'400), "1 day");
  EXPECT_EQ(Duration(90), "90 s");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(EscapeMarkup("a<b>&\"'\x01\xff"), "a&lt;b&gt;&amp;&quot;&#39;\uFFFD\uFFFD");
  EXPECT_EQ(EscapeMarkup("é−\U0001F600"), "é−\U0001F600");
}

}  // namespace
}  // namespace vixen::tool
