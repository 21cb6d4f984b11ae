// SPDX-License-Identifier: Apache-2.0
// What a CSV file may not hold: every error names file, line, row, time, field and value.
#include <zlib.h>

#include "tests/market/csv_fixture.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CsvRefusals : public CsvTest {
 protected:
  // A good row, then `row`.
  void ExpectRowRefused(const std::string& row, const std::string& fault) {
    ExpectRefused(
        "time,open,high,low,close,volume\n2020-04-17T00:00:00Z,10,11,9,10,5\n" + row + "\n",
        {"a.csv: line 3 (row 2)", fault.c_str()});
  }
};

TEST_F(CsvRefusals, NegativePrices) {
  ExpectRowRefused("2020-04-20T00:00:00Z,10.01,10.28,-40.32,-37.63,5",
                   ", time `2020-04-20T00:00:00Z`: low = -40.32 is not above 0");
}

TEST_F(CsvRefusals, AZeroPrice) {
  ExpectRowRefused("2020-04-20T00:00:00Z,0,11,0,10,5", ": open = 0 is not above 0");
}

TEST_F(CsvRefusals, EmptyFieldsAreNotFilled) {
  ExpectRefused("time,open,high,low,close\n2020-04-17,,,,\n2020-04-18,,,,\n2020-04-19,1,1,1,1\n",
                {"a.csv: line 2 (row 1), time `2020-04-17`: open = `` is not a finite decimal"});
  ExpectRefused(
      "time,open,high,low,close\n2020-04-17,100,100,100,\n2020-04-18,100,100,100,\n"
      "2020-04-19,100,100,100,100\n2020-04-20,101,101,101,101\n",
      {"a.csv: line 2 (row 1), time `2020-04-17`: close = `` is not a finite decimal number"});
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,,5", "close = `` is not a finite decimal number");
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10,",
                   "volume = `` is not a finite decimal number");
  ExpectRowRefused(",10,11,9,10,5", "time = `` is no time that is understood");
}

TEST_F(CsvRefusals, NaNAndInfinityInAnySpelling) {
  for (const std::string text :
       {"NaN", "nan", "-nan", "inf", "-Infinity", "1e999", "null", "None"}) {
    ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9," + text + ",5",
                     "close = `" + text + "` is not a finite decimal number");
    ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10," + text,
                     "volume = `" + text + "` is not a finite decimal number");
  }
}

TEST_F(CsvRefusals, TextsThatAreNoNumbers) {
  for (const std::string text :
       {".", "N/A", "-", "10,5", "1 000", "0x1p3", "10.5.1", "10USD", "+-1"}) {
    ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,\"" + text + "\",5",
                     "close = `" + text + "` is not a finite decimal number");
  }
}

TEST_F(CsvRefusals, ThousandsSeparators) {
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10,\"1,234,567\"", "volume = `1,234,567`");
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10,1,234", "has 7 fields where 6 are expected");
  CsvOptions options;
  options.decimal = ',';
  ExpectRefused({"time;open;high;low;close\n2020-04-20;1.234,5;1.234,5;1.234,5;1.234,5\n"}, options,
                {"open = `1.234,5` is not a finite decimal number"});
}

TEST_F(CsvRefusals, HighBelowLow) {
  ExpectRowRefused("2020-04-20T00:00:00Z,10,9,11,10,5", ": high = 9 is below low = 11");
}

TEST_F(CsvRefusals, OpenAndCloseOutsideTheBar) {
  ExpectRowRefused("2020-04-20T00:00:00Z,12,11,9,10,5",
                   ": open = 12 lies outside low 9 to high 11");
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,8.5,5",
                   ": close = 8.5 lies outside low 9 to high 11");
}

TEST_F(CsvRefusals, ANegativeVolume) {
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10,-5", ": volume = -5 is below 0");
}

TEST_F(CsvRefusals, TimesOutsideTheCalendar) {
  for (const std::string text :
       {"2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-02T25:00:00Z",
        "2024-01-02T24:00:00Z", "2024-01-02T10:60:00Z", "2024-01-02T10:00:60Z",
        "2023-02-29T00:00:00Z", "2024-00-10T00:00:00Z", "2024-01-02T10:00:00+25:00",
        "2024-01-02X10:00:00Z", "yesterday", "2024-01-02T", "1024-01-02T00:00:00Z"}) {
    ExpectRowRefused(text + ",10,11,9,10,5", "time = `" + text + "` is no time that is understood");
  }
}

TEST_F(CsvRefusals, TimesOfAnotherKindThanBefore) {
  ExpectRowRefused("2020-04-20,10,11,9,10,5", "`2020-04-20` is another kind of time");
  ExpectRowRefused("2020-04-20 00:00:00,10,11,9,10,5", "is another kind of time");
  ExpectRefused("time,open,high,low,close\n1704205800,1,1,1,1\n1704205860000,1,1,1,1\n",
                {"line 3 (row 2): time = `1704205860000` is in milliseconds by its size, the rows "
                 "before are in seconds"});
}

TEST_F(CsvRefusals, RowsTooShortOrTooLong) {
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10", "has 5 fields where 6 are expected");
  ExpectRowRefused("2020-04-20T00:00:00Z,10,11,9,10,5,", "has 7 fields where 6 are expected");
  ExpectRowRefused("2020-04-20T00:00:00Z;10;11;9;10;5", "has 1 fields where 6 are expected");
}

TEST_F(CsvRefusals, AnEmptyInstrument) {
  ExpectRefused("time,symbol,open,high,low,close\n2024-01-02,,1,1,1,1\n",
                {"line 2 (row 1), time `2024-01-02`: the instrument is empty"});
}

TEST_F(CsvRefusals, EmptyFiles) {
  ExpectRefused("", {"a.csv: the file holds no line of data"});
  ExpectRefused("\n\r\n# nothing\n", {"a.csv: the file holds no line of data"});
  ExpectRefused("time,open,high,low,close\n", {"a.csv: a header but no bar below it"});
}

TEST_F(CsvRefusals, AnotherDelimiter) {
  ExpectRefused("time|open|high|low|close\n2024-01-02|1|1|1|1\n",
                {"a.csv: line 1 and line 2 hold a single column", "--delimiter"});
  CsvOptions options;
  options.delimiter = ';';
  ExpectRefused({"time,open\n2024-01-02,1\n"}, options, {"the delimiter given does not occur"});
  ExpectRefused("justoneline", {"a.csv: line 1 holds a single column and nothing follows"});
}

TEST_F(CsvRefusals, AMillionBytesWithoutALineEnd) {
  ExpectRefused(std::string(1'000'000, '1'), {"a.csv: line 1 is longer than 65536 bytes"});
  ExpectRefused("time,open,high,low,close\n" + std::string(3'000'000, ','),
                {"a.csv: line 2 is longer than 65536 bytes"});
}

TEST_F(CsvRefusals, WhatIsNoText) {
  ExpectRefused(std::string("\xFF\xFEt\0i\0", 6), {"a.csv: is UTF-16 text"});
  ExpectRefused(std::string("PK\x03\x04") + "zip", {"a.csv: is a zip archive: unpack it first"});
  ExpectRefused("time,open\r2024-01-02,1\r", {"a.csv: lines end in CR alone"});
  ExpectRefused(std::string("a\0b,c\n", 6), {"a.csv: line 1 holds NUL bytes"});
}

TEST_F(CsvRefusals, AFileThatIsNotThere) {
  const absl::Status status = ReadCsv({folder_.File("none.csv")}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("none.csv"));
}

TEST_F(CsvRefusals, AFolder) {
  const absl::Status status = ReadCsv({folder_.path().string()}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_.path().string()));
}

std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

constexpr char kTwoBars[] = "time,open,high,low,close\n1704205800,1,1,1,1\n1704205860,2,2,2,2\n";

TEST_F(CsvRefusals, GzipIsReadAlsoInSeveralMembers) {
  EXPECT_THAT(Good(Gzip(kTwoBars)).close, ElementsAre(1, 2));
  const std::string text = kTwoBars;
  EXPECT_THAT(Good(Gzip(text.substr(0, 30)) + Gzip(text.substr(30))).close, ElementsAre(1, 2));
}

TEST_F(CsvRefusals, GzipThatIsCutOffOrDamaged) {
  const std::string whole = Gzip(kTwoBars);
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 0x55;
  for (const std::string& bytes : {whole.substr(0, whole.size() - 12), damaged}) {
    const absl::Status status = Read(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("a.csv: the gzip stream is damaged"));
  }
}

}  // namespace
}  // namespace vixen::market
