// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/tensor_file.h"
#include "tests/scratch_folder.h"

namespace vixen::tool {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr size_t kSteps = 50'000;

// A wavy market of minutes with a trade every 20 steps.
Evaluation Long(size_t steps = kSteps) {
  Evaluation evaluation;
  evaluation.initial_capital = 1'000;
  evaluation.annualisation.steps_a_year = 525'600;
  evaluation.parts = {
      {.begin = 0, .end = steps + 1, .steps = steps, .begin_price = 100, .capital = 1'000}};
  EvaluationSeries& series = evaluation.series;
  for (size_t i = 0; i < steps; ++i) {
    const double wave = std::sin(static_cast<double>(i * i % 9'973));
    series.time.push_back(static_cast<int64_t>(i + 1) * 60'000'000'000);
    series.close.push_back(100 + wave);
    series.position.push_back(i % 3 == 0 ? 0 : 10);
    series.exposure.push_back(i % 4 == 0 ? 1 : 0);
    series.equity.push_back(1'000 + 10 * wave + static_cast<double>(i) / 1'000);
    series.buy_and_hold.push_back(1'000 - 5 * wave);
    series.moving_average.push_back(1'000 + wave);
    if (i % 20 == 19) {
      evaluation.trades.push_back(
          {.entry_step = i - 5, .exit_step = i, .units = 10, .profit = wave, .open = false});
    }
  }
  evaluation.random_timing.band = {{0, 12'345, steps - 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  DescribeCurves(evaluation);
  return evaluation;
}

double Deepest(double initial, const std::vector<double>& equity) {
  double peak = initial, deepest = 0;
  for (const double value : equity) {
    peak = std::max(peak, value);
    deepest = std::min(deepest, value / peak - 1);
  }
  return deepest;
}

TEST(Compact, KeepsTheExtremesOfEveryCurveAndTheDeepestDrawdown) {
  const Evaluation whole = Long();
  Evaluation kept = whole;
  Compact(kept);
  const EvaluationSeries& series = kept.series;
  ASSERT_FALSE(series.step.empty());
  EXPECT_LT(series.step.size(), kMostKeptSteps * 2);
  EXPECT_EQ(kept.steps(), kSteps);
  const auto same_extremes = [](const std::vector<double>& a, const std::vector<double>& b) {
    EXPECT_EQ(std::ranges::min(a), std::ranges::min(b));
    EXPECT_EQ(std::ranges::max(a), std::ranges::max(b));
  };
  same_extremes(series.close, whole.series.close);
  same_extremes(series.equity, whole.series.equity);
  same_extremes(series.buy_and_hold, whole.series.buy_and_hold);
  same_extremes(series.moving_average, whole.series.moving_average);
  EXPECT_EQ(Deepest(1'000, series.equity), Deepest(1'000, whole.series.equity));
  EXPECT_EQ(Deepest(1'000, series.buy_and_hold), Deepest(1'000, whole.series.buy_and_hold));
  for (size_t i = 0; i < series.step.size(); ++i) {
    const uint64_t step = series.step[i];
    ASSERT_EQ(series.time[i], whole.series.time[step]);
    ASSERT_EQ(series.equity[i], whole.series.equity[step]);
    ASSERT_EQ(series.position[i], whole.series.position[step]);
    ASSERT_EQ(std::isnan(kept.rolling.policy[i]), std::isnan(whole.rolling.policy[step]));
  }
  for (const uint64_t step : {uint64_t{0}, uint64_t{12'345}, uint64_t{kSteps - 1}}) {
    EXPECT_TRUE(std::ranges::binary_search(series.step, step)) << step;
  }
}

// The peak stands in the stretch of the trough and of a higher maximum: no extreme of a curve.
TEST(Compact, KeepsThePeakOfADrawdownBesideAHigherMaximumInItsStretch) {
  Evaluation whole = Long();
  whole.initial_capital = 100;
  for (auto* curve : {&whole.series.equity, &whole.series.buy_and_hold}) curve->assign(kSteps, 100);
  DescribeCurves(whole);
  const auto deepest_of_kept = [](Evaluation kept) {
    Compact(kept);
    return std::pair(Deepest(100, kept.series.equity), Deepest(100, kept.series.buy_and_hold));
  };
  const auto fall = [](std::vector<double>& curve, size_t begin) {
    curve[begin] = 130, curve[begin + 1] = 95, curve[begin + 2] = 140;
    std::fill(curve.begin() + static_cast<ptrdiff_t>(begin) + 3, curve.end(), 140);
  };
  fall(whole.series.equity, 30'005);
  fall(whole.series.buy_and_hold, 10'010);
  const auto [policy, hold] = deepest_of_kept(whole);
  EXPECT_EQ(policy, 95. / 130 - 1);
  EXPECT_EQ(hold, 95. / 130 - 1);
}

TEST(Compact, ExposureIsTheMeanOfAStretch) {
  Evaluation kept = Long();
  Compact(kept);
  for (const double exposure : kept.series.exposure) EXPECT_NEAR(exposure, 0.25, 0.05);
}

TEST(Compact, KeepsTheLastTradesAndTheirNumber) {
  Evaluation kept = Long();
  const std::vector<Trade> all = kept.trades;
  Compact(kept);
  EXPECT_EQ(kept.trades.size(), kMostKeptTrades);
  EXPECT_EQ(kept.trades_left_out, all.size() - kMostKeptTrades);
  EXPECT_EQ(kept.trades.back().exit_step, all.back().exit_step);
  EXPECT_THAT(kept.trade_bins.others, ElementsAreArray(Long().trade_bins.others));
}

TEST(Compact, LeavesAShortEvaluationAsItIs) {
  Evaluation kept = Long(2'000);
  const std::string before = EvaluationToJson(kept);
  Compact(kept);
  EXPECT_TRUE(kept.series.step.empty());
  EXPECT_EQ(EvaluationToJson(kept), before);
}

TEST(Compact, TheFileOfALongEvaluationIsSmallAndReadBackAsWritten) {
  Evaluation kept = Long();
  Compact(kept);
  const std::string text = EvaluationToJson(kept);
  EXPECT_LT(text.size(), 8u << 20);
  const absl::StatusOr<Evaluation> back = ParseEvaluation(text, "e.json");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->steps(), kSteps);
  EXPECT_EQ(back->trades_left_out, kept.trades_left_out);
  EXPECT_THAT(back->series.step, ElementsAreArray(kept.series.step));
  EXPECT_EQ(EvaluationToJson(*back), text);
}

TEST(Compact, AFileWhoseStepsDoNotRiseIsRefused) {
  Evaluation kept = Long();
  Compact(kept);
  const auto fault = [](const Evaluation& evaluation) {
    const absl::Status status = ParseEvaluation(EvaluationToJson(evaluation), "e.json").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  Evaluation broken = kept;
  std::swap(broken.series.step[3], broken.series.step[4]);
  EXPECT_THAT(fault(broken), HasSubstr("whose steps do not rise"));
  broken = kept;
  broken.series.step.back() = kSteps;
  EXPECT_THAT(fault(broken), HasSubstr("whose steps do not rise"));
  broken = kept;
  broken.series.step.pop_back();
  EXPECT_THAT(fault(broken), HasSubstr("series.step has"));
  broken = kept;
  broken.rolling.policy.pop_back();
  EXPECT_THAT(fault(broken), HasSubstr("rolling_sharpe.policy has"));
  broken = kept;
  broken.trade_bins.others.pop_back();
  EXPECT_THAT(fault(broken), HasSubstr("bins differ in length"));
}

TEST(WriteSeries, HoldsEveryStep) {
  const vixen::testing::ScratchFolder folder;
  const std::string path = folder.File("s.safetensors");
  Evaluation evaluation = Long(3'000);
  evaluation.identity.dataset_fingerprint = "ab";
  ASSERT_EQ(WriteSeries(evaluation, path), absl::OkStatus());
  const base::TensorFile file = base::TensorFile::Open(path).value();
  EXPECT_EQ(file.metadata().at("dataset_fingerprint"), "ab");
  EXPECT_THAT(*file.Get<double>("equity", {3'000}), ElementsAreArray(evaluation.series.equity));
  EXPECT_THAT(*file.Get<int64_t>("time", {3'000}), ElementsAreArray(evaluation.series.time));
}

}  // namespace
}  // namespace vixen::tool
