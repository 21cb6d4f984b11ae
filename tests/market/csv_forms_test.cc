// SPDX-License-Identifier: Apache-2.0
// The forms in which vendors and programs write bars: one test a row of the conventions table.
#include "tests/market/csv_fixture.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using CsvForms = CsvTest;

TEST_F(CsvForms, YahooLikeDatesWithTheMonthFirst) {
  const Bars bars = Good(
      "Date,Open,High,Low,Close,Adj Close,Volume\n"
      "1/12/1999,10,11,9,10.5,5.25,100\n"
      "1/13/1999,10,12,9,11,5.5,200\n");
  EXPECT_THAT(Times(bars), ElementsAre("1999-01-12T00:00:00Z", "1999-01-13T00:00:00Z"));
  EXPECT_THAT(bars.close, ElementsAre(10.5, 11));
  EXPECT_THAT(bars.volume, ElementsAre(100, 200));
  EXPECT_THAT(bars.last, ElementsAre(0, 1));
  EXPECT_TRUE(bars.has_volume);
  EXPECT_EQ(bars.metadata.at("bar_start"), "midnight UTC of the date");
  EXPECT_EQ(bars.metadata.at("volume_column"), "Volume");
}

TEST_F(CsvForms, YahooLikeDatesWithTheDayFirst) {
  const Bars bars = Good(
      "Date,Open,High,Low,Close\n"
      "12/1/1999,10,11,9,10.5\n"
      "13/1/1999,10,12,9,11\n");
  EXPECT_THAT(Times(bars), ElementsAre("1999-01-12T00:00:00Z", "1999-01-13T00:00:00Z"));
}

TEST_F(CsvForms, DatesThatFitBothOrdersAreRefused) {
  const std::string text =
      "Date,Open,High,Low,Close\n"
      "1/4/1999,10,11,9,10.5\n"
      "1/5/1999,10,12,9,11\n";
  ExpectRefused(text, {"a.csv: dates such as `1/4/1999` can be month/day and day/month",
                       "--date_order mdy or --date_order dmy"});
  CsvOptions options;
  options.date_order = DateOrder::kDayFirst;
  EXPECT_THAT(Times(Good(text, options)),
              ElementsAre("1999-04-01T00:00:00Z", "1999-05-01T00:00:00Z"));
  options.date_order = DateOrder::kMonthFirst;
  EXPECT_THAT(Times(Good(text, options)),
              ElementsAre("1999-01-04T00:00:00Z", "1999-01-05T00:00:00Z"));
}

TEST_F(CsvForms, DatesThatFitNeitherOrderThroughoutAreRefusedByRow) {
  ExpectRefused(
      "Date,Open,High,Low,Close\n"
      "1/13/1999,10,11,9,10.5\n"
      "13/1/1999,10,12,9,11\n",
      {"a.csv: line 3 (row 2): time = `13/1/1999` is no date with the month first"});
  CsvOptions options;
  options.date_order = DateOrder::kDayFirst;
  ExpectRefused({"Date,Open,High,Low,Close\n1/13/1999,10,11,9,10.5\n"}, options,
                {"time = `1/13/1999` is no date with the day first, as --date_order asks for"});
}

TEST_F(CsvForms, AdjustingScalesAllPricesAndTheVolume) {
  CsvOptions options;
  options.adjust = true;
  const std::string text =
      "Date,Open,High,Low,Close,Adj Close,Volume\n"
      "1999-01-12,10,12,8,10,5,100\n";
  const Bars bars = Good(text, options);
  EXPECT_THAT(bars.open, ElementsAre(5));
  EXPECT_THAT(bars.high, ElementsAre(6));
  EXPECT_THAT(bars.low, ElementsAre(4));
  EXPECT_THAT(bars.close, ElementsAre(5));
  EXPECT_THAT(bars.volume, ElementsAre(200));
  EXPECT_THAT(Good(text).close, ElementsAre(10));
  ExpectRefused({"Date,Open,High,Low,Close\n1999-01-12,1,1,1,1\n"}, options,
                {"--adjust needs a column of adjusted closes"});
  ExpectRefused({"Date,Open,High,Low,Close,adj_close\n1999-01-12,1,1,1,1,0\n"}, options,
                {"line 2 (row 1), time `1999-01-12`: adjusted close = 0 is not above 0"});
}

TEST_F(CsvForms, PandasIndexWithoutAName) {
  const std::string text =
      ",Open,High,Low,Close,Volume\n"
      "2017-04-19 09:00:00,1.07,1.08,1.06,1.075,1413\n"
      "2017-04-19 10:00:00.5,1.07,1.08,1.06,1.075,1413\n";
  EXPECT_THAT(Times(Good(text, In("UTC"))),
              ElementsAre("2017-04-19T09:00:00Z", "2017-04-19T10:00:00.5Z"));
  ExpectRefused(text,
                {"line 2 (row 1): time = `2017-04-19 09:00:00` carries no time zone", "--tz"});
}

TEST_F(CsvForms, Dukascopy) {
  const Bars bars = Good(
      "Time,Open,High,Low,Close,Volume\r\n"
      "01.01.2017 22:00:00.000,1.05148,1.05153,1.05148,1.05153,5.38\r\n"
      "13.01.2017 23:00:00.250,1.05148,1.05153,1.05148,1.05153,158500000000.1\r\n",
      In("UTC"));
  EXPECT_THAT(Times(bars), ElementsAre("2017-01-01T22:00:00Z", "2017-01-13T23:00:00.25Z"));
  EXPECT_THAT(bars.volume, ElementsAre(5.38, 158500000000.1));
}

TEST_F(CsvForms, AHeaderThatSaysGmtNeedsNoZone) {
  EXPECT_THAT(Times(Good("Gmt time,Open,High,Low,Close,Volume\n"
                         "01.01.2017 22:00:00.000,1,1,1,1,0.5\n")),
              ElementsAre("2017-01-01T22:00:00Z"));
}

TEST_F(CsvForms, DukascopyLocalTimeCarriesItsOffset) {
  EXPECT_THAT(Times(Good("Local time,Open,High,Low,Close,Volume\n"
                         "01.07.2017 22:00:00.000 GMT+0200,1,1,1,1,0.5\n")),
              ElementsAre("2017-07-01T20:00:00Z"));
}

constexpr char kBinanceRows[] =
    "1735689540000,93548.8,93600,93500.5,93576,12.5,1735689599999,1169000.1,2000,6.1,570000,0\n"
    "1735689600000,93576,93611,93537.5,93610.9,8.2,1735689659999,767000.2,1500,4.1,380000,0\n";

TEST_F(CsvForms, BinanceWithoutHeader) {
  const Bars bars = Good(kBinanceRows);
  EXPECT_THAT(Times(bars), ElementsAre("2024-12-31T23:59:00Z", "2025-01-01T00:00:00Z"));
  EXPECT_THAT(bars.open, ElementsAre(93548.8, 93576));
  EXPECT_THAT(bars.volume, ElementsAre(12.5, 8.2));
}

TEST_F(CsvForms, BinanceWithHeader) {
  const Bars bars = Good(
      "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,"
      "taker_buy_quote_volume,ignore\n"
      "1735689600000000,93576,93611,93537.5,93610.9,8.2,1735689659999999,7670.2,1500,4.1,3800,0\n");
  EXPECT_THAT(Times(bars), ElementsAre("2025-01-01T00:00:00Z"));
  EXPECT_THAT(bars.volume, ElementsAre(8.2));
}

// Milliseconds before 2025, microseconds after: the unit is decided for each file.
TEST_F(CsvForms, BinanceUnitsAreDecidedForEachFile) {
  const Bars bars = GoodFiles({"1735689540000,1,1,1,1,1,1735689599999,1,1,1,1,0\n",
                               "open_time,open,high,low,close,volume,close_time,a,b,c,d,e\n"
                               "1735689600000000,1,1,1,1,1,1735689659999999,1,1,1,1,0\n"});
  EXPECT_THAT(Times(bars), ElementsAre("2024-12-31T23:59:00Z", "2025-01-01T00:00:00Z"));
  EXPECT_EQ(bars.timestamp[1] - bars.timestamp[0], 60'000'000'000);
  EXPECT_THAT(bars.last, ElementsAre(0, 1));
}

TEST_F(CsvForms, EpochUnitsBySize) {
  const auto only = [this](const std::string& time) {
    return Times(Good("time,open,high,low,close\n" + time + ",1,1,1,1\n"));
  };
  EXPECT_THAT(only("1704205800"), ElementsAre("2024-01-02T14:30:00Z"));
  EXPECT_THAT(only("1704205800000"), ElementsAre("2024-01-02T14:30:00Z"));
  EXPECT_THAT(only("1704205800000000"), ElementsAre("2024-01-02T14:30:00Z"));
  EXPECT_THAT(only("1704205800000000001"), ElementsAre("2024-01-02T14:30:00.000000001Z"));
  EXPECT_THAT(only("1704205800.5"), ElementsAre("2024-01-02T14:30:00.5Z"));
  EXPECT_THAT(only("8000000000"), ElementsAre("2223-07-06T14:13:20Z"));
  EXPECT_THAT(only("100000000000"), ElementsAre("1973-03-03T09:46:40Z"));
  EXPECT_THAT(only("-86400"), ElementsAre("1969-12-31T00:00:00Z"));
  ExpectRefused("time,open,high,low,close\n99999999999,1,1,1,1\n",
                {"line 2 (row 1): time = `99999999999` is no time that is understood"});
}

TEST_F(CsvForms, HistDataWithSpacedTime) {
  const Bars bars = Good(
      "20120201 000000;1.306600;1.306600;1.306560;1.306570;0\n"
      "20120201 000100;1.306570;1.306580;1.306500;1.306510;0\n",
      In("-05:00"));
  EXPECT_THAT(Times(bars), ElementsAre("2012-02-01T05:00:00Z", "2012-02-01T05:01:00Z"));
  EXPECT_THAT(bars.close, ElementsAre(1.30657, 1.30651));
  EXPECT_EQ(bars.metadata.at("time_zone_of_source"), "-05:00");
  EXPECT_TRUE(bars.has_volume);
}

TEST_F(CsvForms, HistDataWithDateAndTimeApart) {
  const std::string text =
      "2012.02.01,00:00,1.306600,1.306600,1.306560,1.306570,0\n"
      "2012.02.01,00:01,1.306570,1.306580,1.306500,1.306510,0\n";
  EXPECT_THAT(Times(Good(text, In("-05:00"))),
              ElementsAre("2012-02-01T05:00:00Z", "2012-02-01T05:01:00Z"));
  CsvOptions options = In("-05:00");
  options.volume = "none";
  EXPECT_FALSE(Good(text, options).has_volume);
  ExpectRefused(text, {"line 1 (row 1): time = `2012.02.01 00:00` carries no time zone"});
}

TEST_F(CsvForms, MetaTrader) {
  const std::string header =
      "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n";
  const std::string first = "2024.01.02\t09:30:00\t1.1\t1.2\t1.0\t1.15\t55\t0\t3\n";
  const Bars ticks =
      Good(header + first + "2024.01.02\t09:31:00\t1.1\t1.2\t1.0\t1.15\t56\t0\t3\n", In("UTC"));
  EXPECT_THAT(Times(ticks), ElementsAre("2024-01-02T09:30:00Z", "2024-01-02T09:31:00Z"));
  EXPECT_THAT(ticks.volume, ElementsAre(55, 56));
  EXPECT_EQ(ticks.metadata.at("volume_column"), "<TICKVOL>");
  const Bars real =
      Good(header + first + "2024.01.02\t09:31:00\t1.1\t1.2\t1.0\t1.15\t56\t7\t3\n", In("UTC"));
  EXPECT_THAT(real.volume, ElementsAre(0, 7));
  EXPECT_EQ(real.metadata.at("volume_column"), "<VOL>");
}

TEST_F(CsvForms, MetaStockTickersMakeSegmentsInOrderOfAppearance) {
  const std::string text =
      "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\n"
      "X,1,20240102,093000,10,11,9,10,5\n"
      "A,1,20240102,093000,20,21,19,20,5\n"
      "X,1,20240102,093100,10,11,9,11,5\n"
      "A,1,20240102,093100,20,21,19,21,5\n";
  const Bars bars = Good(text, In("UTC"));
  EXPECT_THAT(bars.close, ElementsAre(10, 11, 20, 21));
  EXPECT_THAT(bars.last, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(bars.metadata.at("symbols"), "X,A");
  CsvOptions options = In("UTC");
  options.symbols = {"A"};
  EXPECT_THAT(Good(text, options).close, ElementsAre(20, 21));
  options.symbols = {"B"};
  ExpectRefused({text}, options, {"no row of instrument B; found: X, A"});
}

TEST_F(CsvForms, DatabentoWithDecimalPrices) {
  const Bars bars = Good(
      "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n"
      "2024-01-02T14:30:00.000000000Z,33,1,100,4750.250000000,4751.000000000,4750.000000000,"
      "4750.750000000,12,ESH4\n"
      "2024-01-02T14:31:00.000000000Z,33,1,100,4750.250000000,4751.000000000,4750.000000000,"
      "4750.500000000,12,ESH4\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T14:30:00Z", "2024-01-02T14:31:00Z"));
  EXPECT_THAT(bars.close, ElementsAre(4750.75, 4750.5));
}

TEST_F(CsvForms, DatabentoWithIntegers) {
  const std::string header =
      "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n";
  const Bars bars = Good(header +
                         "1704205800000000000,33,1,100,4750250000000,4751000000000,4750000000000,"
                         "4750750000000,12,ESH4\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T14:30:00Z"));
  EXPECT_THAT(bars.open, ElementsAre(4750.25));
  EXPECT_THAT(bars.close, ElementsAre(4750.75));
  EXPECT_THAT(bars.volume, ElementsAre(12));
  ExpectRefused(header +
                    "2024-01-02T14:30:00Z,33,1,100,4750250000000,4751000000000,4750000000000,"
                    "4750750000000,12,ESH4\n",
                {"line 2 (row 1)", "open = `4750250000000` is an integer beside a formatted time"});
}

TEST_F(CsvForms, DatabentoWithoutAPriceIsRefused) {
  ExpectRefused(
      "ts_event,rtype,open,high,low,close,volume\n"
      "1704205800000000000,33,9223372036854775807,9223372036854775807,1000000000,1000000000,1\n",
      {"open = `9223372036854775807` stands for no price"});
}

TEST_F(CsvForms, AnInstrumentMayBeMissingFromSomeOfTheFiles) {
  CsvOptions options;
  options.symbols = {"B"};
  const std::string header = "symbol,time,open,high,low,close\n";
  const Bars bars =
      GoodFiles({header + "A,2024-01-02,1,1,1,1\n", header + "B,2024-01-03,2,2,2,2\n"}, options);
  EXPECT_THAT(bars.close, ElementsAre(2));
  EXPECT_EQ(bars.metadata.at("symbols"), "B");
}

// A continuous symbol goes on over a roll; the contract does not.
TEST_F(CsvForms, DatabentoRollEndsASegment) {
  const Bars bars = Good(
      "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n"
      "1704205800000000000,33,1,100,1000000000,1000000000,1000000000,1000000000,1,ES.c.0\n"
      "1704205860000000000,33,1,100,1000000000,1000000000,1000000000,1000000000,1,ES.c.0\n"
      "1704205920000000000,33,1,101,2000000000,2000000000,2000000000,2000000000,1,ES.c.0\n"
      "1704205980000000000,33,1,101,2000000000,2000000000,2000000000,2000000000,1,ES.c.0\n");
  EXPECT_THAT(bars.last, ElementsAre(0, 1, 0, 1));
}

TEST_F(CsvForms, PolygonInItsOwnOrder) {
  const Bars bars = Good(
      "ticker,volume,open,close,high,low,window_start,transactions\n"
      "AAPL,1500,185.1,185.3,185.5,185.0,1704205800000000000,30\n"
      "AAPL,1600,185.3,185.2,185.4,185.1,1704205860000000000,31\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T14:30:00Z", "2024-01-02T14:31:00Z"));
  EXPECT_THAT(bars.open, ElementsAre(185.1, 185.3));
  EXPECT_THAT(bars.high, ElementsAre(185.5, 185.4));
  EXPECT_THAT(bars.low, ElementsAre(185.0, 185.1));
  EXPECT_THAT(bars.close, ElementsAre(185.3, 185.2));
  EXPECT_THAT(bars.volume, ElementsAre(1500, 1600));
}

TEST_F(CsvForms, TradingViewInSecondsOrIso) {
  EXPECT_THAT(Times(Good("time,open,high,low,close,Volume\n1704205800,1,1,1,1,5\n")),
              ElementsAre("2024-01-02T14:30:00Z"));
  EXPECT_THAT(Times(Good("time,open,high,low,close,Volume\n2024-01-02T09:30:00-05:00,1,1,1,1,5\n")),
              ElementsAre("2024-01-02T14:30:00Z"));
}

constexpr char kNewestFirst[] =
    "unix,date,symbol,open,high,low,close,Volume BTC,Volume USD\n"
    "1704205860,2024-01-02 14:31:00,BTC/USD,3,3,3,3,30,300\n"
    "1704205800,2024-01-02 14:30:00,BTC/USD,2,2,2,2,20,200\n";

TEST_F(CsvForms, CryptoDataDownloadNewestFirstIsTurnedRound) {
  CsvOptions options;
  options.volume = "Volume USD";
  const Bars bars = Good(kNewestFirst, options);
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T14:30:00Z", "2024-01-02T14:31:00Z"));
  EXPECT_THAT(bars.volume, ElementsAre(200, 300));
  EXPECT_EQ(bars.metadata.at("symbols"), "BTC/USD");
}

TEST_F(CsvForms, TwoVolumesAreAskedAbout) {
  ExpectRefused(kNewestFirst, {"which column is the volume, Volume BTC or Volume USD?",
                               "--volume \"Volume BTC\"", "--volume none"});
  CsvOptions options;
  options.volume = "none";
  EXPECT_FALSE(Good(kNewestFirst, options).has_volume);
  options.volume = "volume_btc";
  EXPECT_THAT(Good(kNewestFirst, options).volume, ElementsAre(20, 30));
  options.volume = "Volume ETH";
  ExpectRefused({kNewestFirst}, options, {"--volume Volume ETH names no column", "columns found"});
}

TEST_F(CsvForms, AnAddressAboveTheHeaderIsPassedOver) {
  CsvOptions options;
  options.volume = "Volume BTC";
  const Bars bars = Good(std::string("https://www.example.com\n") + kNewestFirst, options);
  EXPECT_EQ(bars.size(), 2u);
  ASSERT_EQ(bars.warnings.size(), 1u);
  EXPECT_THAT(bars.warnings[0], HasSubstr("line 1 has a single field and was passed over"));
}

TEST_F(CsvForms, EuropeanNamesAndDecimalComma) {
  const std::string text =
      "Datum;Eröffnung;Hoch;Tief;Schluss;Volumen\n"
      "02.01.2024;1,0716;1,08;1,07;1,075;1500,5\n"
      "03.01.2024;1,0716;1,08;1,07;1,0777;1500\n";
  ExpectRefused(text, {"a.csv: line 1: no column for time, open, high, low, close",
                       "columns found: Datum, Eröffnung, Hoch, Tief, Schluss, Volumen",
                       "--columns time=…,open=…,high=…,low=…,close=…"});
  CsvOptions options;
  options.columns = {{"time", "datum"}, {"open", "Eröffnung"}, {"high", "hoch"},
                     {"low", "Tief"},   {"close", "SCHLUSS"},  {"volume", "Volumen"}};
  ExpectRefused({text}, options,
                {"line 2 (row 1), time `02.01.2024`: open = `1,0716`", "--decimal ,"});
  options.decimal = ',';
  const Bars bars = Good(text, options);
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"));
  EXPECT_THAT(bars.open, ElementsAre(1.0716, 1.0716));
  EXPECT_THAT(bars.volume, ElementsAre(1500.5, 1500));
}

TEST_F(CsvForms, ColumnsByNumberWithoutHeader) {
  CsvOptions options = In("UTC");
  options.header = false;
  options.columns = {{"date", "1"}, {"time", "2"}, {"close", "3"},
                     {"open", "4"}, {"high", "5"}, {"low", "6"}};
  const Bars bars = Good("2024-01-02|09:30|3|2|4|1\n", [&] {
    CsvOptions bar = options;
    bar.delimiter = '|';
    return bar;
  }());
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T09:30:00Z"));
  EXPECT_THAT(bars.close, ElementsAre(3));
  EXPECT_THAT(bars.low, ElementsAre(1));
  EXPECT_FALSE(bars.has_volume);
  options.columns = {{"price", "1"}};
  ExpectRefused({"2024-01-02,09:30,3,2,4\n"}, options, {"--columns price=1: roles are time, date"});
}

TEST_F(CsvForms, UnknownFormsWithoutHeaderAreRefused) {
  ExpectRefused(
      "1704205800,1,1,1,1\n1704205860,1,1,1,1\n",
      {"a.csv: line 1: 5 columns without a header are no known form", "--columns time=1"});
}

TEST_F(CsvForms, NamesInAnyCaseOrderQuotesAndBrackets) {
  const Bars bars = Good(
      "\xEF\xBB\xBF\"<VOLUME>\" , \"Low\",HIGH, <close>,\" OPEN \",\"TimeStamp\"\r\n"
      "# exported by hand\r\n"
      "\"100\",\"1\",4,3,\"2\",\"2024-01-02T14:30:00Z\"\r\n"
      "\r\n"
      "100,1,4,2.5,2,2024-01-02T14:31:00Z\r\n"
      "\r\n");
  EXPECT_THAT(bars.open, ElementsAre(2, 2));
  EXPECT_THAT(bars.high, ElementsAre(4, 4));
  EXPECT_THAT(bars.low, ElementsAre(1, 1));
  EXPECT_THAT(bars.close, ElementsAre(3, 2.5));
  EXPECT_THAT(bars.volume, ElementsAre(100, 100));
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T14:30:00Z", "2024-01-02T14:31:00Z"));
}

TEST_F(CsvForms, ACommentAboveTheHeaderAndNoLineEndAtTheEnd) {
  const Bars bars = Good("# bars\ntime;open;high;low;close\n1704205800;1;2;1;2");
  EXPECT_THAT(bars.close, ElementsAre(2));
  EXPECT_THAT(bars.warnings, IsEmpty());
}

TEST_F(CsvForms, TheSameNameTwiceIsRefused) {
  ExpectRefused("time,open,high,low,close,Close\n1704205800,1,1,1,1,1\n",
                {"columns 5 and 6 are both called `Close`"});
}

TEST_F(CsvForms, FilesWithDifferentVolumeColumnsAreRefused) {
  ExpectRefused({"time,open,high,low,close,volume\n1704205800,1,1,1,1,1\n",
                 "time,open,high,low,close\n1704205860,1,1,1,1\n"},
                {}, {"b.csv: has other volume columns than", "a.csv"});
}

}  // namespace
}  // namespace vixen::market
