// SPDX-License-Identifier: Apache-2.0
// Order of times, zones and instruments over rows and files.
#include "base/exit_code.h"
#include "tests/market/csv_fixture.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CsvOrder = CsvTest;

constexpr char kHeader[] = "time,open,high,low,close\n";

std::string Row(const std::string& time, int close) {
  const std::string price = std::to_string(close);
  return time + "," + price + "," + price + "," + price + "," + price + "\n";
}

std::string Repeated() {
  return kHeader + Row("2024-01-02T10:00:00Z", 1) + Row("2024-01-02T10:01:00Z", 2) +
         Row("2024-01-02T10:01:00Z", 3);
}

TEST_F(CsvOrder, EqualTimesAreRefusedWithBothRows) {
  ExpectRefused(Repeated() + Row("2024-01-02T10:00:00Z", 4),
                {"a.csv: line 4 (row 3), time 2024-01-02T10:01:00Z: the time of ",
                 "a.csv: line 3 (row 2) again", "--duplicates last"});
}

TEST_F(CsvOrder, OneOfEqualTimesIsKeptOnRequest) {
  CsvOptions options;
  options.duplicates = Duplicates::kLast;
  EXPECT_THAT(Good(Repeated(), options).close, ElementsAre(1, 3));
  options.duplicates = Duplicates::kFirst;
  EXPECT_THAT(Good(Repeated(), options).close, ElementsAre(1, 2));
}

TEST_F(CsvOrder, EqualTimesMayEachBeginASegment) {
  CsvOptions options;
  options.duplicates = Duplicates::kSegment;
  const Bars bars = Good(Repeated(), options);
  EXPECT_THAT(bars.close, ElementsAre(1, 2, 3));
  EXPECT_THAT(bars.last, ElementsAre(0, 1, 1));
}

TEST_F(CsvOrder, RowsWithoutAPriceAreLeftOutOnRequestAndMayEndASegment) {
  std::string forward = kHeader, backward = kHeader;
  const std::vector<std::string> rows = {Row("2024-01-01", 1),     "2024-01-02,,2,2,2\n",
                                         Row("2024-01-03", 3),     Row("2024-01-04", 4),
                                         "2024-01-05,5,5,5,N/A\n", "2024-01-06,.,.,.,.\n",
                                         Row("2024-01-07", 7),     "2024-01-08,nan,8,8,8\n"};
  for (const std::string& row : rows) {
    forward += row;
    backward = kHeader + row + backward.substr(std::string(kHeader).size());
  }
  for (const std::string& text : {forward, backward}) {
    CsvOptions options;
    EXPECT_FALSE(Read(text, options).ok());
    options.missing = Missing::kDrop;
    const Bars dropped = Good(text, options);
    EXPECT_THAT(dropped.close, ElementsAre(1, 3, 4, 7));
    EXPECT_THAT(dropped.last, ElementsAre(0, 0, 0, 1));
    EXPECT_EQ(dropped.left_out.at("rows without a price"), 4u);
    options.missing = Missing::kSegment;
    const Bars cut = Good(text, options);
    EXPECT_THAT(cut.close, ElementsAre(1, 3, 4, 7));
    EXPECT_THAT(cut.last, ElementsAre(1, 0, 1, 1));
  }
}

TEST_F(CsvOrder, AMissingPriceIsNoLicenceForABadOne) {
  CsvOptions options;
  options.missing = Missing::kDrop;
  ExpectRefused({kHeader + std::string("2024-01-01,10.01,10.28,-40.32,-37.63\n")}, options,
                {"line 2 (row 1)", "low = -40.32"});
  ExpectRefused({kHeader + std::string("2024-01-01,,,,\n2024-01-02,.,1,1,1\n")}, options,
                {"no row has all four prices"});
}

TEST_F(CsvOrder, FallingTimesAreAlwaysRefusedWithBothRows) {
  CsvOptions options;
  options.duplicates = Duplicates::kLast;
  ExpectRefused({Repeated() + Row("2024-01-02T10:00:00Z", 4)}, options,
                {"a.csv: line 5 (row 4), time 2024-01-02T10:00:00Z: lies before ",
                 "a.csv: line 4 (row 3), time 2024-01-02T10:01:00Z"});
}

TEST_F(CsvOrder, AFileThatFallsThroughoutIsTurnedRound) {
  const std::string text =
      kHeader + Row("2024-01-03", 3) + Row("2024-01-02", 2) + Row("2024-01-01", 1);
  EXPECT_THAT(Good(text).close, ElementsAre(1, 2, 3));
  EXPECT_THAT(GoodFiles({text, kHeader + Row("2024-01-04", 4) + Row("2024-01-05", 5)}).close,
              ElementsAre(1, 2, 3, 4, 5));
  ExpectRefused(text + Row("2024-01-05", 5), {"line 3 (row 2)", "lies before", "line 2 (row 1)"});
}

TEST_F(CsvOrder, LastOfEqualTimesIsByTheFileAlsoWhenItIsTurnedRound) {
  CsvOptions options;
  options.duplicates = Duplicates::kLast;
  const std::string text = kHeader + Row("2024-01-03", 3) + Row("2024-01-02", 2) +
                           Row("2024-01-02", 9) + Row("2024-01-01", 1);
  EXPECT_THAT(Good(text, options).close, ElementsAre(1, 9, 3));
  options.duplicates = Duplicates::kFirst;
  EXPECT_THAT(Good(text, options).close, ElementsAre(1, 2, 3));
}

TEST_F(CsvOrder, InstrumentsFallOnlyTogether) {
  const std::string header = "symbol,time,open,high,low,close\n";
  EXPECT_THAT(Good(header + "A," + Row("2024-01-03", 2) + "A," + Row("2024-01-02", 1) + "B," +
                   Row("2024-01-03", 4) + "B," + Row("2024-01-02", 3))
                  .close,
              ElementsAre(1, 2, 3, 4));
  ExpectRefused(header + "A," + Row("2024-01-02", 1) + "A," + Row("2024-01-03", 2) + "B," +
                    Row("2024-01-03", 4) + "B," + Row("2024-01-02", 3),
                {"line 5 (row 4)", "lies before", "line 4 (row 3)"});
}

TEST_F(CsvOrder, ALaterFileContinuesTheInstrument) {
  const Bars bars = GoodFiles({kHeader + Row("2024-01-01", 1), kHeader + Row("2024-01-02", 2)});
  EXPECT_THAT(bars.close, ElementsAre(1, 2));
  EXPECT_THAT(bars.last, ElementsAre(0, 1));
}

TEST_F(CsvOrder, AnEarlierOrRepeatedLaterFileIsRefusedWithBothPlaces) {
  const std::string first = kHeader + Row("2024-01-01", 1) + Row("2024-01-02", 2);
  ExpectRefused(
      {first, kHeader + Row("2023-12-01", 2)}, {},
      {"b.csv: line 2 (row 1), time 2023-12-01T00:00:00Z: lies before ", "a.csv: line 3 (row 2)"});
  ExpectRefused({first, kHeader + Row("2024-01-02", 2)}, {},
                {"b.csv: line 2 (row 1)", "the time of ", "a.csv: line 3 (row 2) again"});
}

// An hour that occurs twice, and one that does not occur.
TEST_F(CsvOrder, OffsetsKeepBothHoursOfAClockChange) {
  EXPECT_THAT(Times(Good(kHeader + Row("2024-11-03 01:30:00-05:00", 1) +
                         Row("2024-11-03 01:30:00-06:00", 2))),
              ElementsAre("2024-11-03T06:30:00Z", "2024-11-03T07:30:00Z"));
}

TEST_F(CsvOrder, AmbiguousLocalTimesAreRefusedByRow) {
  const std::string text = kHeader + Row("2024-11-03 00:30:00", 1) + Row("2024-11-03 01:30:00", 2);
  ExpectRefused(
      {text}, In("America/Chicago"),
      {"a.csv: line 3 (row 2): time 2024-11-03 01:30:00 is ambiguous in America/Chicago"});
  ExpectRefused(text, {"line 2 (row 1): time = `2024-11-03 00:30:00` carries no time zone"});
}

TEST_F(CsvOrder, LocalTimesThatDoNotExistAreRefusedByRow) {
  ExpectRefused({kHeader + Row("2024-03-10 01:30", 1) + Row("2024-03-10 02:30", 2)},
                In("America/Chicago"),
                {"line 3 (row 2): time 2024-03-10 02:30:00 does not exist in America/Chicago"});
}

TEST_F(CsvOrder, LocalTimesOnEitherSideOfAClockChange) {
  EXPECT_THAT(Times(Good(kHeader + Row("2024-03-09 12:00", 1) + Row("2024-03-10 01:59:59.5", 2) +
                             Row("2024-03-10 03:00", 3) + Row("2024-03-11 12:00", 4) +
                             Row("2024-11-03 00:59:59", 5) + Row("2024-11-03 02:00", 6),
                         In("America/Chicago"))),
              ElementsAre("2024-03-09T18:00:00Z", "2024-03-10T07:59:59.5Z", "2024-03-10T08:00:00Z",
                          "2024-03-11T17:00:00Z", "2024-11-03T05:59:59Z", "2024-11-03T08:00:00Z"));
}

TEST_F(CsvOrder, FixedOffsets) {
  for (const char* zone : {"-05:00", "-0500", "-05"}) {
    EXPECT_THAT(Times(Good(kHeader + Row("2024-07-01 09:30", 1), In(zone))),
                ElementsAre("2024-07-01T14:30:00Z"));
  }
  EXPECT_THAT(Times(Good(kHeader + Row("2024-07-01 09:30", 1), In("+05:30"))),
              ElementsAre("2024-07-01T04:00:00Z"));
}

TEST_F(CsvOrder, AnUnknownZoneIsAUsageError) {
  const absl::Status status =
      Read(kHeader + Row("2024-07-01 09:30", 1), In("Mars/Olympus")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(base::IsUsageError(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--tz Mars/Olympus is no time zone"));
  EXPECT_TRUE(base::IsUsageError(Read("", In("../../etc/passwd")).status()));
}

TEST_F(CsvOrder, DatesStandForMidnightUtcWhateverTheZone) {
  const Bars bars = Good(kHeader + Row("2024-07-01", 1), In("America/New_York"));
  EXPECT_THAT(Times(bars), ElementsAre("2024-07-01T00:00:00Z"));
  ASSERT_EQ(bars.warnings.size(), 1u);
  EXPECT_THAT(bars.warnings[0], HasSubstr("--tz America/New_York was not applied"));
}

TEST_F(CsvOrder, CompactCalendarTimes) {
  const auto only = [this](const std::string& time) {
    return Times(Good(kHeader + Row(time, 1), In("UTC")));
  };
  EXPECT_THAT(only("20240102"), ElementsAre("2024-01-02T00:00:00Z"));
  EXPECT_THAT(only("20240102 093000"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("20240102T0930"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("20240102T093000Z"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("20240102093000"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("202401020930"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("2024/1/2 9:30"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("2024.01.02 09:30"), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(only("31-12-2023 09:30"), ElementsAre("2023-12-31T09:30:00Z"));
}

}  // namespace
}  // namespace vixen::market
