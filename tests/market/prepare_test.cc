// SPDX-License-Identifier: Apache-2.0
// Sessions, resampling, splits and dividends: hand-computed values, and that no later bar or action
// changes an earlier bar.
#include "market/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/exit_code.h"
#include "market/bar_check.h"
#include "market/factors.h"
#include "market/features.h"
#include "market/format.h"
#include "market/resample.h"
#include "market/session.h"
#include "tests/market/example_bars.h"
#include "tests/scratch_folder.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kNoon = 1'704'197'700'000'000'000;  // 2024-01-02T12:15Z

// Flat bars at the given minutes after `start`, closes 1, 2, 3, ….
Bars At(const std::vector<int>& minutes, int64_t start = kNoon) {
  Bars bars;
  for (size_t i = 0; i < minutes.size(); ++i) {
    const double close = static_cast<double>(i + 1);
    AppendBar(bars, start + minutes[i] * kMinute, close, close + 0.5, close - 0.5, close, 10,
              false);
  }
  bars.last.back() = 1;
  return bars;
}

std::vector<std::string> Clocks(const Bars& bars) {
  std::vector<std::string> clocks;
  for (const int64_t time : bars.timestamp) clocks.push_back(FormatUtc(time).substr(11, 5));
  return clocks;
}

TEST(Resample, FirstOpenHighestHighLowestLowLastCloseSumOfVolumes) {
  Bars bars;
  AppendBar(bars, kNoon, 10, 12, 9, 11, 5, false);
  AppendBar(bars, kNoon + kMinute, 11, 15, 10, 14, 6, false);
  AppendBar(bars, kNoon + 4 * kMinute, 14, 14.5, 8, 9, 7, false);
  AppendBar(bars, kNoon + 5 * kMinute, 9, 9, 9, 9, 1, false);
  AppendBar(bars, kNoon + 9 * kMinute, 9, 10, 9, 10, 2, true);
  ASSERT_EQ(Resample(5 * kMinute, kMinute, nullptr, bars), absl::OkStatus());
  EXPECT_THAT(Clocks(bars), ElementsAre("12:15", "12:20"));
  EXPECT_THAT(bars.open, ElementsAre(10, 9));
  EXPECT_THAT(bars.high, ElementsAre(15, 10));
  EXPECT_THAT(bars.low, ElementsAre(8, 9));
  EXPECT_THAT(bars.close, ElementsAre(9, 10));
  EXPECT_THAT(bars.volume, ElementsAre(18, 3));
  EXPECT_THAT(bars.last, ElementsAre(0, 1));
  EXPECT_EQ(ValidateBars(bars), absl::OkStatus());
  EXPECT_TRUE(bars.left_out.empty());
}

TEST(Resample, ABarThatTheDataEndInsideIsLeftOut) {
  Bars bars = At({0, 1, 2, 3, 4, 5, 6});
  ASSERT_EQ(Resample(5 * kMinute, kMinute, nullptr, bars), absl::OkStatus());
  EXPECT_THAT(Clocks(bars), ElementsAre("12:15"));
  EXPECT_THAT(bars.last, ElementsAre(1));
  EXPECT_EQ(bars.left_out.at("resampled bars that the data end inside"), 1u);
}

TEST(Resample, NoBarCrossesASegmentOrAnInstrument) {
  Bars bars = At({0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  bars.last[1] = bars.last[4] = 1;
  bars.instruments = {{"A", 0}, {"B", 5}};
  ASSERT_EQ(Resample(5 * kMinute, kMinute, nullptr, bars), absl::OkStatus());
  EXPECT_THAT(bars.close, ElementsAre(2, 5, 10));
  EXPECT_THAT(bars.last, ElementsAre(1, 1, 1));
  EXPECT_EQ(bars.instruments[1].begin, 2u);
}

TEST(Resample, OnlyMultiplesOfTheInterval) {
  Bars bars = At({0, 2, 4});
  const absl::Status status = Resample(5 * kMinute, 2 * kMinute, nullptr, bars);
  EXPECT_TRUE(base::IsUsageError(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--resample 5m is no multiple"));
}

TEST(Session, BarsOutsideAreLeftOutAndEachDayIsASegment) {
  // New York in January: 14:30Z to 21:00Z.
  Bars bars;
  for (const int64_t day : {0, 1}) {
    for (const int hour : {14, 15, 20, 21}) {
      AppendBar(bars, 1'704'153'600'000'000'000 + day * 24 * kHour + hour * kHour + 30 * kMinute, 1,
                1, 1, 1, 1, false);
    }
  }
  bars.last.back() = 1;
  Session session = Session::Parse("09:30-16:00", "America/New_York").value();
  ASSERT_EQ(ApplySession(session, true, bars), absl::OkStatus());
  EXPECT_THAT(Clocks(bars), ElementsAre("14:30", "15:30", "20:30", "14:30", "15:30", "20:30"));
  EXPECT_THAT(bars.last, ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_EQ(bars.left_out.at("bars outside the session"), 2u);
  EXPECT_EQ(ValidateBars(bars), absl::OkStatus());
}

TEST(Session, FollowsTheClocksOfItsZone) {
  Session session = Session::Parse("09:30-16:00", "America/New_York").value();
  // 2024-03-08 14:30Z opens in winter time, 2024-03-11 13:30Z in summer time.
  EXPECT_TRUE(session.At(1'709'908'200'000'000'000).has_value());
  EXPECT_FALSE(session.At(1'709'904'600'000'000'000).has_value());
  EXPECT_TRUE(session.At(1'710'163'800'000'000'000).has_value());
  EXPECT_EQ(FormatUtc(session.At(1'710'163'800'000'000'000)->open_ns), "2024-03-11T13:30:00Z");
  EXPECT_EQ(FormatUtc(session.At(1'710'163'800'000'000'000)->close_ns), "2024-03-11T20:00:00Z");
}

TEST(Session, MayReachIntoTheNextDay) {
  Session session = Session::Parse("17:00-16:00", "America/Chicago").value();
  const auto day_of = [&](int64_t ns) {
    return session.At(ns).has_value() ? session.At(ns)->day : -1;
  };
  const int64_t evening = 1'704'240'000'000'000'000;  // 2024-01-03T00:00Z, 18:00 in Chicago
  EXPECT_EQ(day_of(evening), day_of(evening + 21 * kHour));
  EXPECT_EQ(day_of(evening + 22 * kHour), -1);
  EXPECT_EQ(day_of(evening + 23 * kHour), day_of(evening) + 1);
}

TEST(Session, WhatIsNoSessionIsAUsageError) {
  for (const char* hours : {"", "09:30", "9-", "09:30-25:00", "09:30Z-16:00Z", "a-b"}) {
    EXPECT_TRUE(base::IsUsageError(Session::Parse(hours, "UTC").status())) << hours;
  }
  EXPECT_TRUE(base::IsUsageError(Session::Parse("09:30-16:00", "Nowhere/City").status()));
  Bars bars = At({0});
  EXPECT_TRUE(base::IsUsageError(PrepareBars({.session = "09:30-16:00"}, bars)));
}

TEST(Session, ResampledBarsAreCountedFromItsOpen) {
  Bars bars;
  const int64_t open = 1'704'205'800'000'000'000;  // 14:30Z, 09:30 in New York
  for (int i = 0; i < 390; ++i) AppendBar(bars, open + i * kMinute, 1, 1, 1, 1, 1, i == 389);
  ASSERT_EQ(
      PrepareBars({.session = "09:30-16:00", .time_zone = "America/New_York", .resample_ns = kHour},
                  bars),
      absl::OkStatus());
  EXPECT_THAT(Clocks(bars),
              ElementsAre("14:30", "15:30", "16:30", "17:30", "18:30", "19:30", "20:30"));
  EXPECT_THAT(bars.volume, ElementsAre(60, 60, 60, 60, 60, 60, 30));
}

class Factors : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<CorporateAction>> Read(const std::string& text,
                                                    const std::string& zone = "") {
    const std::string path = folder_.File("factors.csv");
    std::ofstream(path) << text;
    return ReadFactors(path, zone);
  }
  static Bars Daily(const std::vector<double>& closes) {
    Bars bars;
    for (size_t i = 0; i < closes.size(); ++i) {
      AppendBar(bars, 1'704'153'600'000'000'000 + static_cast<int64_t>(i) * 24 * kHour, closes[i],
                closes[i], closes[i], closes[i], 100, i + 1 == closes.size());
    }
    return bars;
  }
  vixen::testing::ScratchFolder folder_;
};

TEST_F(Factors, ASplitPutsLaterPricesIntoTheFirstBarsShares) {
  Bars bars = Daily({100, 102, 51, 52});
  ASSERT_EQ(ApplyFactors(Read("date,split\n2024-01-04,2:1\n").value(), bars), absl::OkStatus());
  EXPECT_THAT(bars.close, ElementsAre(100, 102, 102, 104));
  EXPECT_THAT(bars.volume, ElementsAre(100, 100, 50, 50));
}

TEST_F(Factors, ADividendIsReinvestedAtTheCloseBeforeIt) {
  Bars bars = Daily({100, 80, 76, 76});
  // 4 of 80: factor 0.95; 76/0.95 = 80.
  ASSERT_EQ(ApplyFactors(Read("Date,Dividends,Stock Splits\n2024-01-04,4,0\n").value(), bars),
            absl::OkStatus());
  EXPECT_DOUBLE_EQ(bars.close[2], 80);
  EXPECT_DOUBLE_EQ(bars.close[1], 80);
  EXPECT_THAT(bars.volume, ElementsAre(100, 100, 100, 100));
  Bars whole = Daily({100, 80});
  const absl::Status status = ApplyFactors(Read("date,dividend\n2024-01-03,100\n").value(), whole);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("line 2 (row 1): dividend = 100 is not below"));
}

TEST_F(Factors, AFactorScalesPricesAndVolumes) {
  Bars bars = Daily({100, 50});
  ASSERT_EQ(ApplyFactors(Read("date,factor\n2024-01-03,0.5\n").value(), bars), absl::OkStatus());
  EXPECT_THAT(bars.close, ElementsAre(100, 100));
  EXPECT_THAT(bars.volume, ElementsAre(100, 50));
}

TEST_F(Factors, ActionsBelongToTheirInstrument) {
  Bars bars = Daily({100, 50, 10, 10});
  bars.last[1] = 1;
  bars.instruments = {{"A", 0}, {"B", 2}};
  ASSERT_EQ(ApplyFactors(Read("symbol;date;split\nA;2024-01-03;2\nC;2024-01-03;3\n").value(), bars),
            absl::OkStatus());
  EXPECT_THAT(bars.close, ElementsAre(100, 100, 10, 10));
  EXPECT_THAT(bars.warnings, ElementsAre(HasSubstr("not in the data: C")));
}

TEST_F(Factors, BeforeTheSecondBarAndAfterTheLastNothingChanges) {
  Bars bars = Daily({100, 101});
  ASSERT_EQ(
      ApplyFactors(Read("date,split\n2023-05-01,2\n2024-01-02,2\n2025-01-01,2\n").value(), bars),
      absl::OkStatus());
  EXPECT_THAT(bars.close, ElementsAre(100, 101));
}

TEST_F(Factors, DatesStandForMidnightOfTheZone) {
  EXPECT_EQ(FormatUtc(Read("date,split\n2024-06-10,10\n", "America/New_York").value()[0].time_ns),
            "2024-06-10T04:00:00Z");
  EXPECT_EQ(FormatUtc(Read("date,split\n2024-06-10,10\n").value()[0].time_ns),
            "2024-06-10T00:00:00Z");
}

TEST_F(Factors, WhatIsNoFactorFileIsRefusedByRow) {
  const auto refused = [&](const std::string& text, const char* part) {
    const absl::Status status = Read(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  };
  refused("", "no header");
  refused("date,price\n", "found: date, price");
  refused("date,split\n2024-01-03,-2\n", "line 2 (row 1): split = `-2`");
  refused("date,split\n2024-01-03,2:0\n", "split = `2:0`");
  refused("date,split\n1/2/2024,2\n", "is no date");
  refused("date,split\n2024-01-03\n", "has 1 fields");
}

// Bars before `place`, bit by bit.
void ExpectEqualBefore(const Bars& a, const Bars& b, size_t count) {
  ASSERT_LE(count, std::min(a.size(), b.size()));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(a.timestamp[i], b.timestamp[i]);
    ASSERT_EQ(a.open[i], b.open[i]);
    ASSERT_EQ(a.high[i], b.high[i]);
    ASSERT_EQ(a.low[i], b.low[i]);
    ASSERT_EQ(a.close[i], b.close[i]);
    ASSERT_EQ(a.volume[i], b.volume[i]);
  }
}

// Everything between reading and the features, with a later bar changed or the bars cut after it:
// every prepared bar that had ended before, and every feature of it, keeps its bits.
TEST_F(Factors, NothingThatIsPreparedLooksAhead) {
  const std::string factors = folder_.File("f.csv");
  std::ofstream(factors)
      << "date,split,dividend\n2023-11-15,2,0\n2023-11-16,1,0.3\n2023-11-18,3,1\n";
  const std::vector<PrepareOptions> all = {{.factors = factors},
                                           {.session = "08:00-21:00", .time_zone = "Europe/Berlin"},
                                           {.resample_ns = 5 * kMinute},
                                           {.factors = factors,
                                            .session = "22:00-18:00",
                                            .time_zone = "America/Chicago",
                                            .resample_ns = 10 * kMinute}};
  const Bars source = RandomBars(21, 1, 6000);
  std::mt19937_64 random(5);
  for (const PrepareOptions& options : all) {
    Bars whole = source;
    ASSERT_EQ(PrepareBars(options, whole), absl::OkStatus());
    const FeatureRows features = ComputeFeatures(whole, kLeastWarmUp).value();
    for (int trial = 0; trial < 20; ++trial) {
      const size_t place = 2500 + random() % 3000;
      Bars cut = Cut(source, 0, place), changed = source;
      for (auto* column : {&changed.open, &changed.high, &changed.low, &changed.close}) {
        for (size_t bar = place; bar < changed.size(); ++bar) (*column)[bar] *= 1.5;
      }
      for (Bars* other : {&cut, &changed}) {
        ASSERT_EQ(PrepareBars(options, *other), absl::OkStatus());
        // Bars that ended before the first one that was changed.
        const int64_t known = source.timestamp[place] - options.resample_ns.value_or(kMinute);
        size_t bars = 0;
        while (bars < other->size() && other->timestamp[bars] <= known) ++bars;
        ExpectEqualBefore(whole, *other, bars);
        const auto rows = ComputeFeatures(*other, kLeastWarmUp);
        if (!rows.ok()) continue;
        for (size_t row = 0; row < rows->bar.size() && rows->bar[row] + 1 < bars; ++row) {
          ASSERT_EQ(rows->bar[row], features.bar[row]);
          for (size_t i = row * kFeatureCount; i < (row + 1) * kFeatureCount; ++i) {
            ASSERT_EQ(rows->features[i], features.features[i])
                << FeatureNames()[i % kFeatureCount] << " of bar " << rows->bar[row];
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vixen::market
