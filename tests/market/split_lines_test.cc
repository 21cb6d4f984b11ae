// SPDX-License-Identifier: Apache-2.0
#include "market/csv/split_lines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "market/csv/fields.h"

namespace vixen::market::csv {
namespace {

class SplitLinesTest : public testing::Test {
 protected:
  SplitLines Open(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return SplitLines(LineReader(*ByteSource::Open(path_)), ',', '.', {-1, 1, 3, 9});
  }

  const std::string path_ = testing::TempDir() + "split_lines.csv";
};

std::string Row(int i) {
  return "row " + std::to_string(i) + ",\" x, \"\"y\" ," + std::string(i % 997, 'z') + "," +
         std::to_string(i * 7);
}

TEST_F(SplitLinesTest, GiveEveryLineOfManyBlocksInOrderWithItsFieldsAndNumber) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += Row(i) + (i % 3 == 0 ? "\r\n" : i % 3 == 1 ? "\n\n" : "\n");
  SplitLines lines = Open(text);
  SplitLine line;
  uint64_t number = 0;
  for (int i = 0; i < 3000; ++i) {
    number += i > 0 && (i - 1) % 3 == 1 ? 2 : 1;
    ASSERT_EQ(*lines.Next(line), true) << i;
    EXPECT_EQ(line.text, Row(i));
    EXPECT_EQ(line.number, number);
    std::vector<std::string_view> fields;
    const std::string row = Row(i);
    SplitFields(row, ',', fields);
    EXPECT_EQ(std::vector<std::string_view>(line.fields.begin(), line.fields.end()), fields);
    ASSERT_EQ(line.numbers.size(), 4u);
    EXPECT_TRUE(std::isnan(line.numbers[0]));
    EXPECT_TRUE(std::isnan(line.numbers[1])) << "no number stands there";
    EXPECT_TRUE(std::isnan(line.numbers[2])) << "was not asked for";
    EXPECT_EQ(line.numbers[3], 7 * i);
  }
  EXPECT_EQ(*lines.Next(line), false);
  EXPECT_EQ(*lines.Next(line), false);
}

TEST_F(SplitLinesTest, TakeALineOfTheGreatestLengthAndRefuseALongerOneAfterThoseBefore) {
  for (const size_t before : {0, 1, 400}) {
    std::string text;
    for (size_t i = 0; i < before; ++i) text += Row(static_cast<int>(i)) + "\n";
    text += std::string(LineReader::kLongestLine, 'a') + "\n";
    text += std::string(LineReader::kLongestLine + 1, 'b') + "\n";
    SplitLines lines = Open(text);
    SplitLine line;
    for (size_t i = 0; i < before; ++i) ASSERT_EQ(*lines.Next(line), true);
    ASSERT_EQ(*lines.Next(line), true);
    EXPECT_EQ(line.text.size(), LineReader::kLongestLine);
    const absl::StatusOr<bool> more = lines.Next(line);
    EXPECT_EQ(more.status().code(), absl::StatusCode::kInvalidArgument) << before;
    EXPECT_NE(more.status().message().find("line " + std::to_string(before + 2)), std::string::npos)
        << more.status();
  }
}

TEST_F(SplitLinesTest, MayBeLeftAnywhere) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += Row(i) + "\n";
  for (const int taken : {0, 1, 130, 131, 500, 2999, 3000}) {
    SplitLines lines = Open(text);
    SplitLine line;
    for (int i = 0; i < taken; ++i) ASSERT_EQ(*lines.Next(line), true);
  }
}

TEST_F(SplitLinesTest, OfAPipeComeBeforeItsNextBytesDo) {
  const std::string path = testing::TempDir() + "split_lines.fifo";
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text;
  while (text.size() < (1 << 20)) text += Row(static_cast<int>(text.size() % 1000)) + "\n";
  signal(SIGPIPE, SIG_IGN);
  std::promise<void> read;
  std::thread writer([&path, &text, until = read.get_future()] {
    std::ofstream pipe(path);
    pipe << text << std::flush;
    until.wait();  // the pipe stays open and silent
  });
  {
    SplitLines lines(LineReader(*ByteSource::Open(path)), ',', '.', {3});
    SplitLine line;
    size_t bytes = 0;
    while (bytes < (300 << 10)) {
      ASSERT_EQ(*lines.Next(line), true);
      bytes += line.text.size();
    }
  }
  read.set_value();
  writer.join();
}

TEST_F(SplitLinesTest, OfAnEmptyFileAreNone) {
  SplitLines lines = Open("");
  SplitLine line;
  EXPECT_EQ(*lines.Next(line), false);
}

}  // namespace
}  // namespace vixen::market::csv
