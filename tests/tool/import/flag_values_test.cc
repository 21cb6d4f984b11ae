// SPDX-License-Identifier: Apache-2.0
#include "tool/import/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/exit_code.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;

TEST(ImportFlagValues, Durations) {
  EXPECT_EQ(ParseDuration("--max_gap", "72h").value(), 72 * 3'600'000'000'000);
  EXPECT_EQ(ParseDuration("--max_gap", "90m").value(), 90 * 60'000'000'000);
  EXPECT_EQ(ParseDuration("--max_gap", "1h30m").value(), 90 * 60'000'000'000);
  EXPECT_EQ(ParseDuration("--max_gap", "3d").value(), 3 * 86'400'000'000'000);
  for (const char* text : {"", "72", "-1h", "0h", "x", "d", "1e9d", "nand", "inf"}) {
    const absl::Status status = ParseDuration("--max_gap", text).status();
    EXPECT_TRUE(base::IsUsageError(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--max_gap"));
  }
}

TEST(ImportFlagValues, Ranges) {
  EXPECT_EQ(ParseRange("--fit", "3:4780").value().begin, 3u);
  EXPECT_EQ(ParseRange("--fit", "3:4780").value().end, 4780u);
  for (const char* text : {"", "3", "3:", ":4", "4:4", "-1:4", "1:2:3", "a:b"}) {
    EXPECT_TRUE(base::IsUsageError(ParseRange("--fit", text).status())) << text;
  }
}

TEST(ImportFlagValues, Splits) {
  EXPECT_EQ(ParseSplit("0.8").value().share, 0.8);
  EXPECT_EQ(ParseSplit("2024-01-02").value().time_ns, 1'704'153'600'000'000'000);
  EXPECT_EQ(ParseSplit("2024-01-02T09:30:00-05:00").value().time_ns, 1'704'205'800'000'000'000);
  for (const char* text : {"", "1", "0", "80", "nan", "2024-02-30", "2024-01-02T09:30:00"}) {
    EXPECT_TRUE(base::IsUsageError(ParseSplit(text).status())) << text;
  }
}

TEST(ImportFlagValues, ColumnsAndDelimiters) {
  const auto columns = ParseColumns({"time=Datum", "open=a=b"}).value();
  EXPECT_EQ(columns.at("time"), "Datum");
  EXPECT_EQ(columns.at("open"), "a=b");
  EXPECT_TRUE(base::IsUsageError(ParseColumns({"time"}).status()));
  EXPECT_TRUE(base::IsUsageError(ParseColumns({"time=a", "time=b"}).status()));
  EXPECT_EQ(ParseDelimiter("tab").value(), '\t');
  EXPECT_EQ(ParseDelimiter("|").value(), '|');
  EXPECT_TRUE(base::IsUsageError(ParseDelimiter("||").status()));
}

}  // namespace
}  // namespace vixen::tool
