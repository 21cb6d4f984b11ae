// SPDX-License-Identifier: Apache-2.0
// The 80-bar series with its published values, and what the formulas say of small, flat and empty
// markets.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "market/features.h"
#include "market/features/series.h"
#include "market/features/windows.h"
#include "tests/market/example_bars.h"

namespace vixen::market {
namespace {

struct Published {
  std::string_view name;
  double row60, row79;
};

constexpr Published kPublished[] = {
    {"ret_1", 0.0092578481271549, 0.0084620030540294},
    {"ret_5", 0.070561414565431, 0.068080432024785},
    {"ret_15", 0.025774021673566, 0.027966376293726},
    {"ret_30", 0.097635886727717, 0.09878946967216},
    {"ret_60", 0.10043092143197, 0.097049134273214},
    {"gap", -0.0036581215978484, 0.0035774120164433},
    {"body", 0.012915969725003, 0.004884591037586},
    {"range", 0.022019563989936, 0.022747702489493},
    {"clv", 0.58658345994149, 0.41141273738496},
    {"upper_shadow", 0.20670827002926, 0.29429363130752},
    {"lower_shadow", 0.20670827002926, 0.49048938551253},
    {"body_ratio", 0.58658345994149, 0.21521698317995},
    {"ema12_dist", 0.04393748285935, 0.042999264504759},
    {"ema26_dist", 0.055801556709859, 0.055180757023782},
    {"sma50_dist", 0.071445475349017, 0.070864813295892},
    {"sma10_50", 0.012892550156671, 0.01381965577948},
    {"macd", 0.01072110525371, 0.011066756053488},
    {"macd_hist", 0.0068313778692727, 0.006817122156162},
    {"high60_dist", -0.004501879371297, -0.0066189357628115},
    {"adx14", 0.22080034108107, 0.22034659281846},
    {"di_diff14", 0.15866290265054, 0.15755753864842},
    {"aroonosc14", 0.64285714285714, 0.57142857142857},
    {"linreg_slope14", 0.005311341539154, 0.0055619981019678},
    {"trix15", 0.048723311649734, 0.056336310452254},
    {"rsi14", 0.39645348366727, 0.40229692007371},
    {"rsi5", 0.79962104950782, 0.80524991793589},
    {"stoch_k", 0.86346457340221, 0.84673615509528},
    {"stoch_d", 0.62788222425182, 0.65406044537008},
    {"stochrsi14", 1, 1},
    {"cci20", 0.53568520286152, 0.54972826547631},
    {"mfi14", 0.30367826216274, 0.1456818366097},
    {"ultosc", 0.3721595842491, 0.36301015682762},
    {"natr14", 0.024883478139813, 0.024468939627869},
    {"rv10", 0.007301614226565, 0.0068655758250834},
    {"rv30", 0.010959176972117, 0.010708862597421},
    {"rv60", 0.011462736105801, 0.011231818172323},
    {"rv_ratio", -0.4510059848413, -0.4922307447078},
    {"parkinson20", 0.015727297268684, 0.015346711478966},
    {"garman_klass20", 0.017099009037177, 0.01664901045219},
    {"boll_pctb20", 0.87907450348121, 0.88278960722947},
    {"boll_width20", 0.13165243804938, 0.13026627581224},
    {"vol_ratio20", 0.081769155490364, -0.079978656432522},
    {"vol_z20", 0.55068879175393, -0.48795003647427},
    {"obv20", 0.10077519379845, 0.015384615384615},
    {"cmf20", 0.088318498956119, 0.10517475497593},
    {"vwap20_dist", 0.051272986151626, 0.051089832590097},
    {"amihud20", -16.403471937553, -16.467283638517},
    {"donchian20", 0.91681718398304, 0.8812462241569},
    {"eff_ratio10", 0.87333242130048, 0.90132345368819},
    {"tod_sin", -0.79335334029123, -0.84103901296439},
    {"tod_cos", -0.60876142900872, -0.54097447136799},
};

size_t IndexOf(std::string_view name) {
  const auto& names = FeatureNames();
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// Value of a feature at bar `bar` of a single segment.
float At(const FeatureRows& rows, std::string_view name, size_t bar) {
  return rows.features[(bar - rows.bar.front()) * kFeatureCount + IndexOf(name)];
}

FeatureRows Compute(const Bars& bars) {
  auto rows = ComputeFeatures(bars, kLeastWarmUp);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return *std::move(rows);
}

// 80 bars that do not move, with the given volumes.
Bars FlatBars(double price, double (*volume)(int)) {
  Bars bars;
  for (int k = 0; k < 80; ++k)
    AppendBar(bars, k * kMinute, price, price, price, price, volume(k), k == 79);
  return bars;
}

TEST(FeaturesSeries, HasTheClosesItWasPublishedWith) {
  const Bars bars = SineSeries();
  EXPECT_EQ(bars.close[1], 101.73597348398076);
  EXPECT_EQ(bars.close[79], 112.56126738136298);
  EXPECT_EQ(bars.high[79], 113.31126738136298);
  EXPECT_EQ(bars.low[79], 110.76279225239801);
}

TEST(FeaturesSeries, RowsHaveThePublishedValues) {
  const FeatureRows rows = Compute(SineSeries());
  ASSERT_EQ(rows.bar.size(), 20u);
  for (size_t i = 0; i < kFeatureCount; ++i) {
    EXPECT_EQ(FeatureNames()[i], kPublished[i].name);
    // The table is rounded to 14 digits, the rows to float32.
    EXPECT_FLOAT_EQ(rows.features[i], static_cast<float>(kPublished[i].row60))
        << kPublished[i].name;
    EXPECT_FLOAT_EQ(rows.features[19 * kFeatureCount + i], static_cast<float>(kPublished[i].row79))
        << kPublished[i].name;
  }
}

TEST(FeaturesSeries, BuildingBlocksHaveThePublishedIntermediateValues) {
  const Bars bars = SineSeries();
  const SeriesView close{std::span<const double>(bars.close)};
  const Series mean = WindowMean(close, 20), deviation = WindowDeviation(close, mean, 20);
  Carry carry;
  const Series ema12 = Ema(close, 12, carry), ema26 = Ema(close, 26, carry);
  EXPECT_EQ(mean.from(), 19u);
  EXPECT_TRUE(std::isnan(mean[18]));
  EXPECT_NEAR(mean[19], 100.957199991, 1e-9);
  EXPECT_NEAR(mean[79], 107.215035058, 1e-9);
  EXPECT_NEAR(deviation[19], 3.05475635193, 1e-11);
  EXPECT_NEAR(deviation[79], 3.49162583202, 1e-11);
  EXPECT_EQ(ema12.from(), 11u);
  EXPECT_NEAR(ema12[11], 102.755546781, 1e-9);
  EXPECT_NEAR(ema12[79], 107.920754321, 1e-9);
  EXPECT_NEAR(ema26[25], 102.170499001, 1e-9);
  EXPECT_NEAR(ema26[79], 106.674867441, 1e-9);
}

TEST(FeaturesSeries, ExtremesOfAWindowTakeTheLatestOfEqualValues) {
  const double values[] = {3, 1, 3, 2, 2, 1, 1};
  const SeriesView x{std::span<const double>(values)};
  const Series highest = WindowMax(x, 3), since_high = BarsSinceMax(x, 3),
               since_low = BarsSinceMin(x, 3);
  EXPECT_EQ(highest[2], 3);
  EXPECT_EQ(since_high[2], 0);
  EXPECT_EQ(highest[5], 2);
  EXPECT_EQ(since_high[5], 1);
  EXPECT_EQ(since_low[6], 0);
}

TEST(FeaturesSeries, TinyPricesKeepTheirBands) {
  const FeatureRows rows = Compute(SineSeries(1e-8));
  EXPECT_NEAR(At(rows, "boll_width20", 79), 0.1302662758, 1e-8);
  EXPECT_NEAR(At(rows, "boll_pctb20", 79), 0.8827896072, 1e-7);
}

TEST(FeaturesSeries, OnlyIlliquidityKnowsThePriceUnit) {
  const FeatureRows rows = Compute(SineSeries()), scaled = Compute(SineSeries(1e-8));
  for (size_t i = 0; i < rows.features.size(); ++i) {
    const std::string_view name = FeatureNames()[i % kFeatureCount];
    if (name == "amihud20") continue;
    EXPECT_NEAR(rows.features[i], scaled.features[i],
                1e-6 * std::max(1.0f, std::abs(rows.features[i])))
        << name;
  }
}

TEST(FeaturesSeries, AMotionlessMarketGivesNeutralValues) {
  const FeatureRows rows = Compute(FlatBars(0.3, [](int) { return 7.0; }));
  for (const auto& name : FeatureNames()) {
    if (name == "amihud20" || name == "tod_sin" || name == "tod_cos") continue;
    const float neutral = name == "boll_pctb20" ? 0.5f : 0.0f;
    EXPECT_NEAR(At(rows, name, 79), neutral, 1e-12) << name;
  }
  EXPECT_FLOAT_EQ(At(rows, "amihud20", 79), static_cast<float>(std::log(1e-15)));
}

TEST(FeaturesSeries, ZeroVolumesInAFlatMarketAreCounted) {
  const FeatureRows rows = Compute(FlatBars(50, [](int k) { return k % 2 == 0 ? 100.0 : 0.0; }));
  EXPECT_EQ(At(rows, "obv20", 79), 0);
  EXPECT_EQ(At(rows, "cmf20", 79), 0);
  EXPECT_EQ(At(rows, "vwap20_dist", 79), 0);
  EXPECT_FLOAT_EQ(At(rows, "vol_z20", 79), -1);
}

TEST(FeaturesSeries, AWindowWithoutVolumeFallsBackToTheTypicalPrice) {
  Bars bars = SineSeries();
  std::fill(bars.volume.begin(), bars.volume.end(), 0.0);
  const FeatureRows rows = Compute(bars);
  EXPECT_EQ(At(rows, "obv20", 79), 0);
  EXPECT_EQ(At(rows, "cmf20", 79), 0);
  EXPECT_EQ(At(rows, "vol_z20", 79), 0);
  double typical = 0;
  for (size_t k = 60; k < 80; ++k) typical += (bars.high[k] + bars.low[k] + bars.close[k]) / 3;
  EXPECT_FLOAT_EQ(At(rows, "vwap20_dist", 79),
                  static_cast<float>(bars.close[79] / (typical / 20) - 1));
}

TEST(FeaturesSeries, ASourceWithoutVolumeGivesZeroInEveryVolumeColumn) {
  Bars bars = SineSeries();
  bars.has_volume = false;
  std::fill(bars.volume.begin(), bars.volume.end(), 0.0);
  const FeatureRows rows = Compute(bars);
  for (const char* name :
       {"mfi14", "vol_ratio20", "vol_z20", "obv20", "cmf20", "vwap20_dist", "amihud20"}) {
    for (size_t bar = 60; bar < 80; ++bar) EXPECT_EQ(At(rows, name, bar), 0) << name;
  }
}

TEST(FeaturesSeries, SmallReturnsAtLargePricesAreNotLost) {
  Bars bars;
  for (int k = 0; k < 70; ++k) {
    const double close = k == 69 ? 628'930.02 : 628'930.01;
    AppendBar(bars, k * kMinute, close, close, close, close, 1, k == 69);
  }
  EXPECT_NEAR(At(Compute(bars), "ret_1", 69), 1.590002e-8, 1e-13);
}

TEST(FeaturesSeries, TimeOfDayCountsWholeMinutesAlsoBefore1970) {
  Bars bars = SineSeries();
  for (size_t k = 0; k < bars.size(); ++k)
    bars.timestamp[k] = (static_cast<int64_t>(k) - 80) * kMinute - 1;
  const FeatureRows rows = Compute(bars);
  // Bar 79 starts 1 min + 1 ns before midnight: minute 1438.
  EXPECT_FLOAT_EQ(At(rows, "tod_sin", 79), static_cast<float>(std::sin(2 * M_PI * 1438 / 1440)));
}

TEST(FeaturesSeries, WarmUpBelowSixtyIsRefused) {
  const auto rows = ComputeFeatures(SineSeries(), 59);
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(rows.status().message(), testing::HasSubstr("warm_up = 59"));
}

TEST(FeaturesSeries, SegmentsThatAreTooShortGiveNoRowAndAreCounted) {
  Bars bars = RandomBars(1, 2, 61);
  const Bars longer = RandomBars(2, 1, 62);
  for (size_t k = 0; k < longer.size(); ++k) {
    AppendBar(bars, longer.timestamp[k], longer.open[k], longer.high[k], longer.low[k],
              longer.close[k], longer.volume[k], longer.last[k] != 0);
  }
  const FeatureRows rows = Compute(bars);
  EXPECT_EQ(rows.short_segments, 2u);
  EXPECT_THAT(rows.bar, testing::ElementsAre(122u + 60, 122u + 61));
}

TEST(FeaturesSeries, NoLongEnoughSegmentIsAnError) {
  const auto rows = ComputeFeatures(SineSeries());
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(rows.status().message(), testing::HasSubstr("the longest has 80 bars"));
}

}  // namespace
}  // namespace vixen::market
