// SPDX-License-Identifier: Apache-2.0
// The files of tests/market/data: what each holds, value by value.
#include <numeric>

#include "market/bar_check.h"
#include "market/features.h"
#include "tests/market/dbn_fixture.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class DbnFiles : public DbnTest {
 protected:
  static Bars Of(const std::string& name, const std::string& interval = "") {
    DbnOptions options;
    options.interval = interval;
    absl::StatusOr<Bars> bars = ReadDbn({Example(name)}, options);
    EXPECT_EQ(bars.status(), absl::OkStatus()) << name;
    return bars.ok() ? *std::move(bars) : Bars{};
  }
  static void ExpectBar(const Bars& bars, size_t i, const char* time, double open, double high,
                        double low, double close, double volume) {
    ASSERT_LT(i, bars.size());
    EXPECT_EQ(FormatUtc(bars.timestamp[i]), time);
    EXPECT_EQ(bars.open[i], open);
    EXPECT_EQ(bars.high[i], high);
    EXPECT_EQ(bars.low[i], low);
    EXPECT_EQ(bars.close[i], close);
    EXPECT_EQ(bars.volume[i], volume);
  }
  static double Sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }
};

TEST_F(DbnFiles, ThreeVersionsAndTwoFramesHoldTheSameFiftyBars) {
  for (const char* name : {"ohlcv-1m.v1.dbn", "ohlcv-1m.v2.dbn", "ohlcv-1m.v3.dbn",
                           "ohlcv-1m.v3.two-frames.dbn.zst"}) {
    SCOPED_TRACE(name);
    const Bars bars = Of(name);
    ASSERT_EQ(bars.size(), 50u);
    EXPECT_EQ(ValidateBars(bars), absl::OkStatus());
    ExpectBar(bars, 0, "2024-03-07T14:30:00Z", 5127, 5128.25, 5126.75, 5127.75, 196);
    ExpectBar(bars, 49, "2024-03-07T15:20:00Z", 5123.75, 5125.25, 5123.25, 5124.75, 879);
    EXPECT_EQ(FormatUtc(bars.timestamp[19]), "2024-03-07T14:49:00Z");
    EXPECT_EQ(FormatUtc(bars.timestamp[20]), "2024-03-07T14:51:00Z");
    EXPECT_EQ(FormatUtc(bars.timestamp[25]), "2024-03-07T14:56:00Z");
    EXPECT_EQ(bars.volume[25], 4'294'967'303.0);
    EXPECT_EQ(Sum(bars.volume), 4'295'012'181.0);
    EXPECT_EQ(Sum(bars.close), 256'232.25);
    EXPECT_THAT(Names(bars), ElementsAre("ESH4"));
    EXPECT_EQ(bars.metadata.at("dbn_dataset"), "GLBX.MDP3");
    EXPECT_EQ(bars.metadata.at("bar_interval"), "1m");
    EXPECT_TRUE(bars.left_out.empty());
  }
}

TEST_F(DbnFiles, ACutFileIsAnErrorThatNamesRecordOffsetAndBytes) {
  const absl::Status status = ReadDbn({Example("ohlcv-1m.v3.truncated.dbn")}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("record 30 at offset 1880 is cut: 20 of 56 bytes; the 30 records before"));
}

TEST_F(DbnFiles, MixedFilesNeedAnIntervalAndListTheirs) {
  const absl::Status status = ReadDbn({Example("mixed.v3.dbn")}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("bars of several intervals: 1m (30 bars), 1h (2 bars)"));
}

TEST_F(DbnFiles, TheMinutesOfAMixedFile) {
  const Bars bars = Of("mixed.v3.dbn", "1m");
  ASSERT_EQ(bars.size(), 30u);
  ExpectBar(bars, 0, "2024-03-07T14:30:00Z", 5127, 5127.75, 5127, 5127.5, 751);
  ExpectBar(bars, 29, "2024-03-07T15:00:00Z", 5126.75, 5127, 5126.25, 5127, 868);
  EXPECT_EQ(Sum(bars.volume), 4'294'998'080.0);
  // The record that is 64 bytes long.
  EXPECT_EQ(FormatUtc(bars.timestamp[20]), "2024-03-07T14:51:00Z");
  EXPECT_EQ(bars.close[20], 5124.75);
  EXPECT_EQ(bars.volume[20], 132);
  EXPECT_THAT(bars.left_out, UnorderedElementsAre(Pair("records of kind 0x16 symbol mapping", 1),
                                                  Pair("records of kind 0x00 trades", 1),
                                                  Pair("records of kind 0x17 system", 1),
                                                  Pair("records of kind 0x22 ohlcv-1h", 2),
                                                  Pair("records of kind 0x7E unknown", 1)));
}

TEST_F(DbnFiles, TheHoursOfAMixedFile) {
  const Bars bars = Of("mixed.v3.dbn", "1h");
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_EQ(FormatUtc(bars.timestamp[0]), "2024-03-07T14:30:00Z");
  EXPECT_EQ(bars.close[0], 5127.25);
  EXPECT_EQ(bars.volume[0], 1177);
  EXPECT_EQ(FormatUtc(bars.timestamp[1]), "2024-03-07T15:30:00Z");
  EXPECT_EQ(bars.close[1], 5127);
  EXPECT_EQ(bars.volume[1], 1522);
}

TEST_F(DbnFiles, OrderBooksAreRefusedWithAHint) {
  const absl::Status status = ReadDbn({Example("mbp-10.v2.dbn")}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("schema mbp-10"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ohlcv-1m"));
}

TEST_F(DbnFiles, TheLongFileGivesTheStatedFeatures) {
  const Bars bars = Of("ohlcv-1m.v2.long.dbn.zst");
  ASSERT_EQ(bars.size(), 400u);
  ExpectBar(bars, 0, "2024-03-07T14:30:00Z", 5127, 5127.25, 5126, 5126, 1899);
  ExpectBar(bars, 399, "2024-03-07T21:11:00Z", 5124, 5125, 5123.75, 5124.75, 710);
  const FeatureRows rows = ComputeFeatures(bars).value();
  ASSERT_EQ(rows.bar.size(), 150u);
  EXPECT_EQ(FormatUtc(bars.timestamp[rows.bar[0]]), "2024-03-07T18:41:00Z");
  EXPECT_EQ(bars.close[rows.bar[0]], 5114.5);
  struct Stated {
    const char* name;
    float first, last;
  };
  constexpr Stated kStated[] = {
      {"ret_1", 0.00014665266f, 0.00014635931f}, {"adx14", 0.23374031f, 0.13191876f},
      {"rsi14", -0.021026993f, 0.11667033f},     {"stochrsi14", -0.59013240f, 0.13119513f},
      {"mfi14", -0.11974048f, -0.22977929f},     {"rv_ratio", 0.12101668f, 0.12433975f},
      {"boll_pctb20", 0.32090697f, 0.71997064f}, {"obv20", 0.22644041f, 0.019678283f},
      {"tod_sin", -0.98404068f, -0.67236680f}};
  for (const Stated& stated : kStated) {
    const auto& names = FeatureNames();
    const size_t column =
        static_cast<size_t>(std::find(names.begin(), names.end(), stated.name) - names.begin());
    ASSERT_LT(column, names.size());
    EXPECT_NEAR(rows.features[column], stated.first, 1e-9 + 1.2e-7 * std::abs(stated.first));
    EXPECT_NEAR(rows.features[149 * kFeatureCount + column], stated.last,
                1e-9 + 1.2e-7 * std::abs(stated.last));
  }
}

}  // namespace
}  // namespace vixen::market
