// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/file.h"
#include "market/csv/reader.h"
#include "market/format.h"
#include "tests/scratch_folder.h"

namespace vixen::market {

// Reads texts as if they were CSV files a.csv, b.csv, ….
class CsvTest : public ::testing::Test {
 protected:
  std::vector<std::string> Files(const std::vector<std::string>& texts) {
    std::vector<std::string> paths;
    for (size_t i = 0; i < texts.size(); ++i) {
      paths.push_back(folder_.File(std::string(1, static_cast<char>('a' + i)) + ".csv"));
      EXPECT_TRUE(base::WriteFileAtomically(paths.back(), texts[i]).ok());
    }
    return paths;
  }

  absl::StatusOr<Bars> Read(const std::vector<std::string>& texts, const CsvOptions& options = {}) {
    return ReadCsv(Files(texts), options);
  }
  absl::StatusOr<Bars> Read(const std::string& text, const CsvOptions& options = {}) {
    return Read(std::vector<std::string>{text}, options);
  }

  Bars GoodFiles(const std::vector<std::string>& texts, const CsvOptions& options = {}) {
    absl::StatusOr<Bars> bars = Read(texts, options);
    EXPECT_EQ(bars.status(), absl::OkStatus());
    return bars.ok() ? *std::move(bars) : Bars{};
  }
  Bars Good(const std::string& text, const CsvOptions& options = {}) {
    return GoodFiles({text}, options);
  }

  void ExpectRefused(const std::vector<std::string>& texts, const CsvOptions& options,
                     std::initializer_list<const char*> parts) {
    const absl::Status status = Read(texts, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    for (const char* part : parts) {
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(part));
    }
    EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("\n")));
  }
  void ExpectRefused(const std::string& text, std::initializer_list<const char*> parts) {
    ExpectRefused({text}, CsvOptions{}, parts);
  }

  static CsvOptions In(const std::string& zone) {
    CsvOptions options;
    options.time_zone = zone;
    return options;
  }
  static std::vector<std::string> Times(const Bars& bars) {
    std::vector<std::string> times;
    for (const int64_t time : bars.timestamp) times.push_back(FormatUtc(time));
    return times;
  }

  vixen::testing::ScratchFolder folder_;
};

}  // namespace vixen::market
