// SPDX-License-Identifier: Apache-2.0
// Files as they come out of the downloads that people use, and what is said where one cannot be
// read as it is.
#include <algorithm>

#include "base/exit_code.h"
#include "tests/market/csv_fixture.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;

using CsvDownloads = CsvTest;

TEST_F(CsvDownloads, YfinanceWithTwoLevelsOfNames) {
  const std::string head =
      "Price,Close,High,Low,Open,Volume\n"
      "Ticker,AAPL,AAPL,AAPL,AAPL,AAPL\n"
      "Date,,,,,\n";
  const Bars bars = Good(head +
                         "2024-01-02,184.29,187.07,182.55,185.79,82488700\n"
                         "2024-01-03,182.91,184.52,182.09,182.88,58414500\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"));
  EXPECT_THAT(bars.open, ElementsAre(185.79, 182.88));
  EXPECT_THAT(bars.close, ElementsAre(184.29, 182.91));
  EXPECT_EQ(bars.metadata.at("symbols"), "AAPL");
  ExpectRefused(head, {"a.csv: a header but no bar below it"});
  // A head after the first bar is a row like any other.
  ExpectRefused(head + "2024-01-02,184.29,187.07,182.55,185.79,82488700\nDate,,,,,\n",
                {"line 5 (row 2)", "time = `Date` is no time"});
}

TEST_F(CsvDownloads, YfinanceOfSeveralTickersIsRefused) {
  ExpectRefused("Price,Close,Close,High,High\nTicker,AAPL,MSFT,AAPL,MSFT\n",
                {"are both called `High`", "a file for each"});
  ExpectRefused("Price,Close,High,Low,Open\nTicker,AAPL,MSFT,AAPL,MSFT\n",
                {"a.csv: line 2: holds several instruments side by side, `AAPL` and `MSFT`"});
}

TEST_F(CsvDownloads, APriceInTheFirstColumnIsNoTime) {
  ExpectRefused("Price,Open,High,Low,Volume\n100,100,101,99,5\n101,101,102,100,5\n",
                {"no column for time", "--columns time="});
  ExpectRefused("Price,Open,High,Low,Close\n100,100,101,99,100\n",
                {"a.csv: no column for time: the first is called `Price`", "--columns time="});
  // Either line of a data frame's head tells its index.
  EXPECT_THAT(Times(Good("Price,Open,High,Low,Close\nDate,,,,\n2024-01-02,1,1,1,1\n")),
              ElementsAre("2024-01-02T00:00:00Z"));
  EXPECT_THAT(Times(Good("Price,Open,High,Low,Close\nTicker,X,X,X,X\n2024-01-02,1,1,1,1\n")),
              ElementsAre("2024-01-02T00:00:00Z"));
}

TEST_F(CsvDownloads, YfinanceHistoryOfOneTicker) {
  const Bars bars = Good(
      "Date,Open,High,Low,Close,Volume,Dividends,Stock Splits\n"
      "2024-01-02 00:00:00-05:00,185.78,187.07,182.55,184.29,82488700,0.0,0.0\n"
      "2024-07-01 00:00:00-04:00,211.32,216.74,211.15,215.99,60402900,0.0,0.0\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T05:00:00Z", "2024-07-01T04:00:00Z"));
}

TEST_F(CsvDownloads, KrakenWithoutHeader) {
  const Bars bars = Good(
      "1381095240,122.0,122.5,121.9,122.1,0.1,1\n"
      "1381095300,123.61,123.61,123.61,123.61,0.2,3\n");
  EXPECT_THAT(Times(bars), ElementsAre("2013-10-06T21:34:00Z", "2013-10-06T21:35:00Z"));
  EXPECT_THAT(bars.high, ElementsAre(122.5, 123.61));
  EXPECT_THAT(bars.volume, ElementsAre(0.1, 0.2));
}

TEST_F(CsvDownloads, MetaTraderDaysHaveNoTime) {
  const Bars bars = Good(
      "<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\r\n"
      "2024.01.02\t1.1\t1.2\t1.0\t1.15\t55\t0\t3\r\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T00:00:00Z"));
  EXPECT_THAT(bars.volume, ElementsAre(55));
}

TEST_F(CsvDownloads, AlpacaWithOffsets) {
  const Bars bars = Good(
      "symbol,timestamp,open,high,low,close,volume,trade_count,vwap\n"
      "SPY,2024-01-02 14:30:00+00:00,472.16,472.3,471.9,472.0,1000.0,20.0,472.1\n"
      "SPY,2024-01-02 14:31:00+00:00,472.0,472.2,471.8,472.1,900.0,18.0,472.0\n");
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T14:30:00Z", "2024-01-02T14:31:00Z"));
  EXPECT_THAT(bars.volume, ElementsAre(1000, 900));
  EXPECT_EQ(bars.metadata.at("symbols"), "SPY");
}

TEST_F(CsvDownloads, StooqWithBracketsAndOpenInterest) {
  const Bars bars = Good(
      "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n"
      "AAPL.US,D,20240102,000000,185.79,187.07,182.55,184.29,82488700,0\n",
      In("America/New_York"));
  EXPECT_THAT(Times(bars), ElementsAre("2024-01-02T05:00:00Z"));
  EXPECT_THAT(bars.volume, ElementsAre(82488700));
}

TEST_F(CsvDownloads, NasdaqNewestFirstWithoutItsCurrencySigns) {
  const std::string header = "Date,Close/Last,Volume,Open,High,Low\n";
  const Bars bars = Good(header +
                         "01/31/2024,184.40,55467800,187.04,187.095,184.35\n"
                         "01/30/2024,188.04,55859400,190.94,191.80,187.47\n");
  EXPECT_THAT(bars.close, ElementsAre(188.04, 184.40));
  ExpectRefused(header + "01/31/2024,$184.40,55467800,$187.04,$187.095,$184.35\n",
                {"line 2 (row 1), time `01/31/2024`: open = `$187.04`", "currency"});
}

TEST_F(CsvDownloads, MonthsByNameAndHalvesOfTheDay) {
  const auto only = [this](const std::string& time) {
    return Times(Good("time,open,high,low,close\n\"" + time + "\",1,1,1,1\n", In("UTC")));
  };
  EXPECT_THAT(only("31-Jan-2024"), ElementsAre("2024-01-31T00:00:00Z"));
  EXPECT_THAT(only("2 february 2024"), ElementsAre("2024-02-02T00:00:00Z"));
  EXPECT_THAT(only("Mar 5, 2024"), ElementsAre("2024-03-05T00:00:00Z"));
  EXPECT_THAT(only("DEC 31 2023 23:59"), ElementsAre("2023-12-31T23:59:00Z"));
  EXPECT_THAT(only("1/31/2024 9:30 AM"), ElementsAre("2024-01-31T09:30:00Z"));
  EXPECT_THAT(only("1/31/2024 12:00:00 am"), ElementsAre("2024-01-31T00:00:00Z"));
  EXPECT_THAT(only("1/31/2024 12:15PM"), ElementsAre("2024-01-31T12:15:00Z"));
  EXPECT_THAT(only("31-Jan-2024 4:00 PM -05:00"), ElementsAre("2024-01-31T21:00:00Z"));
  for (const char* wrong :
       {"31-Feb-2024", "31-Foo-2024", "31-Jan-24", "31 Jan-2024", "Jan 2024", "Jan 31,24",
        "2024-01-02 13:00 PM", "2024-01-02 0:30 AM", "2024-01-02 9:30 XM"}) {
    ExpectRefused("time,open,high,low,close\n\"" + std::string(wrong) + "\",1,1,1,1\n",
                  {"is no time that is understood", "31-Jan-2024"});
  }
}

TEST_F(CsvDownloads, NumbersThatPeopleWriteAreNamedWithTheirRemedy) {
  const auto remedy = [this](const char* open, const char* part, char decimal = '.') {
    CsvOptions options;
    options.decimal = decimal;
    ExpectRefused({std::string("time;open;high;low;close\n2024-01-02;") + open + ";1;1;1\n"},
                  options, {"a.csv: line 2 (row 1), time `2024-01-02`: open = `", open, part});
  };
  remedy("1,5", "(with a decimal comma: --decimal ,)");
  remedy("1,234", "a decimal comma: --decimal ,; a thousands separator: --thousands ,");
  remedy("1,234.5", "thousands separators: --thousands names them");
  remedy("1,234,567", "thousands separators: --thousands names them");
  remedy("1'234.5", "thousands separators: --thousands names them");
  remedy("1 234", "thousands separators: --thousands names them");
  remedy(
      "1\xC2\xA0"
      "234",
      "thousands separators: --thousands names them");
  remedy("1.234,5", "thousands separators: --thousands names them", ',');
  remedy("1.5", "with a decimal point: leave --decimal , out", ',');
  remedy("1.2M", "export whole numbers, without the letter");
  remedy("10 USD", "without a unit or currency");
  remedy("", "(--missing drop or --missing segment leaves such rows out)");
  remedy("NaN", "(--missing drop or --missing segment leaves such rows out)");
  ExpectRefused("time,open,high,low,close,volume\n2024-01-02,1,1,1,1,1.2M\n",
                {"volume = `1.2M`", "without the letter; --volume none leaves the volume out"});
}

TEST_F(CsvDownloads, ThousandsSeparatorsAreReadOnRequest) {
  const std::string investing =
      "\xEF\xBB\xBF\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\"\n"
      "\"01/31/2024\",\"16,184.40\",\"16,187.04\",\"1,016,187.09\",\"184.35\",\"\",\"0.1%\"\n";
  CsvOptions options;
  options.volume = "none";
  options.thousands = ',';
  const Bars bars = Good(investing, options);
  EXPECT_THAT(bars.close, ElementsAre(16184.40));
  EXPECT_THAT(bars.high, ElementsAre(1016187.09));
  EXPECT_THAT(bars.low, ElementsAre(184.35));
  for (const char* wrong : {"1,23", "1,2345", ",123", "1234,567", "1,,234", "1.5,000", "1,234,",
                            "1e0,001", "1,1e3", "1,-23", "--1,000", "nan,000", "1,+00"}) {
    ExpectRefused({"time;open;high;low;close\n2024-01-02;" + std::string(wrong) + ";1;1;1\n"},
                  options, {"is not a finite decimal number"});
  }
  options.thousands = '.';
  EXPECT_TRUE(base::IsUsageError(Read(investing, options).status()));
  options.decimal = ',';
  EXPECT_THAT(
      Good("Date;Open;High;Low;Close\n2024-01-02;1.234,5;1.234,5;1.234,5;1.234,5\n", options).close,
      ElementsAre(1234.5));
}

TEST_F(CsvDownloads, AnIndexThatCountsRowsIsNoTime) {
  ExpectRefused(
      ",open,high,low,close\n0,1,1,1,1\n1,1,1,1,1\n",
      {"a.csv: the first column has no name and holds numbers up to 1", "--columns time="});
  EXPECT_THAT(Times(Good(",date,open,high,low,close\n0,2024-01-02,1,1,1,1\n")),
              ElementsAre("2024-01-02T00:00:00Z"));
  EXPECT_THAT(Times(Good(",open,high,low,close\n1704205800,1,1,1,1\n")),
              ElementsAre("2024-01-02T14:30:00Z"));
}

TEST_F(CsvDownloads, ColumnsMayBeGivenByNumberWhereNamesCannotBeTyped) {
  CsvOptions options;
  options.columns = {{"time", "1"}, {"open", "2"}, {"high", "3"}, {"low", "4"}, {"close", "5"}};
  EXPECT_THAT(Good("Datum;Er\xF6"
                   "ffnung;Hoch;Tief;Schluss\n02.01.2024;1;2;1;2\n",
                   options)
                  .high,
              ElementsAre(2));
  options.columns["close"] = "6";
  ExpectRefused({"Datum;Er\xF6"
                 "ffnung;Hoch;Tief;Schluss\n02.01.2024;1;2;1;2\n"},
                options, {"--columns close=6 names no column"});
}

TEST_F(CsvDownloads, OnePriceAloneIsNamedWithItsRemedy) {
  ExpectRefused("date,close\n2024-01-02,1\n",
                {"no column for open, high, low", "--columns open=close,high=close,low=close"});
}

TEST_F(CsvDownloads, RowsOfDelimitersAloneAreBlankAboveAndBelowTheBars) {
  const Bars bars = Good("time,open,high,low,close\n,,,,\n2024-01-02,1,1,1,1\n,,,,\n\"\",,,,\n");
  EXPECT_EQ(bars.size(), 1u);
  EXPECT_TRUE(bars.left_out.empty());
}

TEST_F(CsvDownloads, RowsOfDelimitersAloneBetweenBarsAreRowsWithoutAPrice) {
  for (const char delimiter : {',', ';', '\t'}) {
    const std::string blank = std::string(4, delimiter) + "\n";
    std::string text = "time,open,high,low,close\n" + std::string(",,,,\n") +
                       "2024-01-02,1,1,1,1\n,,,,\n,,,,\n2024-01-03,1,1,1,1\n2024-01-04,0,1,1,1\n";
    std::ranges::replace(text, ',', delimiter);
    ExpectRefused(text, {"a.csv: line 4 (row 2)", "--missing drop or --missing segment"});
    CsvOptions options;
    options.missing = Missing::kDrop;
    ExpectRefused({text}, options, {"a.csv: line 7 (row 5)", "open = 0"});
    text.resize(text.find("2024-01-04"));
    text += blank;
    Bars bars = Good(text, options);
    EXPECT_EQ(bars.size(), 2u);
    EXPECT_EQ(bars.left_out.at("rows without a price"), 2u);
    EXPECT_THAT(bars.last, ElementsAre(0, 1));
    options.missing = Missing::kSegment;
    bars = Good(text, options);
    EXPECT_EQ(bars.left_out.at("rows without a price"), 2u);
    EXPECT_THAT(bars.last, ElementsAre(1, 1));
  }
}

TEST_F(CsvDownloads, ARowOfDelimitersAloneEndsTheSegmentOfEveryInstrument) {
  CsvOptions options;
  options.missing = Missing::kSegment;
  const Bars bars = Good(
      "time,symbol,open,high,low,close\n2024-01-02,A,1,1,1,1\n2024-01-02,B,1,1,1,1\n,,,,,\n"
      "2024-01-03,A,1,1,1,1\n2024-01-03,B,1,1,1,1\n2024-01-04,A,1,1,1,1\n2024-01-04,B,1,1,1,1\n",
      options);
  EXPECT_THAT(bars.last, ElementsAre(1, 0, 1, 1, 0, 1));
}

TEST_F(CsvDownloads, AdjustedClosesThatAreNotAskedForAreMentioned) {
  const Bars bars = Good("Date,Open,High,Low,Close,Adj Close\n2024-01-02,1,1,1,1,0.5\n");
  ASSERT_EQ(bars.warnings.size(), 1u);
  EXPECT_THAT(bars.warnings[0], ::testing::HasSubstr("column Adj Close was not used; --adjust"));
}

TEST_F(CsvDownloads, ANoteBelowTheBarsIsNamedWithItsRemedy) {
  ExpectRefused("time,open,high,low,close\n2024-01-02,1,1,1,1\n\nData, as it is\n",
                {"a.csv: line 4 (row 2)", "has 2 fields where 5 are expected", "put # before it"});
  ExpectRefused("Exceeded the daily hits limit",
                {"holds a single column and nothing follows: `Exceeded the daily hits limit`"});
  ExpectRefused(
      "time,open,high,low,close\n2024-01-02,1,1,1,1\n\nData provided as it is\n",
      {"a.csv: line 4 (row 2)", "has 1 fields where 5 are expected: `Data provided as it is`",
       "Delete the line, or put # before it"});
}

TEST_F(CsvDownloads, WhatIsNoTableIsNamedForWhatItIs) {
  ExpectRefused("<!DOCTYPE html><html><body>Log in</body></html>", {"a.csv: is a web page"});
  ExpectRefused("<html>\n", {"a.csv: is a web page"});
  ExpectRefused("[[1704205800,1,1,1,1]]", {"a.csv: is JSON"});
  ExpectRefused("{\"s\":\"ok\",\"t\":[1]}", {"a.csv: is JSON"});
  ExpectRefused("PAR1....", {"a.csv: is Parquet", "docs/import.md"});
  ExpectRefused("\xD0\xCF\x11\xE0....", {"a.csv: is an Excel workbook: save it as CSV"});
  ExpectRefused("PK\x03\x04....", {"an Excel workbook: save it as CSV"});
}

}  // namespace
}  // namespace vixen::market
