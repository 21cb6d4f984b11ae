// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "proto/telemetry/repeat_filter.h"

namespace vixen::telemetry {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// What one call writes to stderr.
template <typename Write>
std::string Written(v1::LogFormat format, Write&& write) {
  v1::LogSettings settings;
  settings.set_log_format(format);
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(SetUpLog("vixen-test", settings).ok());
  write();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, IsOneJsonObjectALineWhateverThePeerSaid) {
  const std::string text = Written(v1::JSON, [] {
    spdlog::warn("it said \"{}\"{}", "a\n\x01\"\\\xff end",
                 Fields({{"policy", "p\"q"}, {"sequence", "7"}, {"run_id", RunIdText(255)}}));
  });
  EXPECT_THAT(text, EndsWith("}\n"));
  const nlohmann::json line = nlohmann::json::parse(text);
  EXPECT_THAT(line["message"].get<std::string>(), HasSubstr("it said \"a\n"));
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["program"], "vixen-test");
  EXPECT_EQ(line["policy"], "p\"q");
  EXPECT_EQ(line["sequence"], "7");
  EXPECT_EQ(line["run_id"], "00000000000000ff");
}

TEST(Log, CannotBeGivenMembersByAPeer) {
  const std::string text = Written(v1::JSON, [] { spdlog::info("it said \x1flevel\":1=x"); });
  const nlohmann::json line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "info");
  EXPECT_THAT(line["message"].get<std::string>(), HasSubstr("it said "));
}

TEST(Log, IsOneLineOfTextWithTheFieldsBehind) {
  const std::string text = Written(v1::TEXT, [] {
    spdlog::info("stream\nopen{}", Fields({{"policy", "p"}, {"group", "g"}}));
  });
  EXPECT_THAT(text, EndsWith(" stream open policy=p group=g\n"));
}

TEST(Log, TakesALevelAtRunTimeAndRefusesOthers) {
  const std::string text = Written(v1::TEXT, [] {
    spdlog::debug("too early");
    EXPECT_TRUE(SetLogLevel("debug").ok());
    EXPECT_EQ(LogLevel(), "debug");
    spdlog::debug("in time");
    EXPECT_EQ(SetLogLevel("loud").code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(LogLevel(), "debug");
    EXPECT_TRUE(SetLogLevel("info").ok());
  });
  EXPECT_THAT(text, HasSubstr("in time"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("too early")));
}

// Keeps what passed a filter.
class Kept final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> lines;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines.emplace_back(message.payload.data(), message.payload.size());
  }
  void flush_() override {}
};

class RepeatFilterTest : public ::testing::Test {
 protected:
  void Log(int second, const std::string& text,
           spdlog::level::level_enum level = spdlog::level::warn) {
    const spdlog::log_clock::time_point time{std::chrono::hours(24) + std::chrono::seconds(second)};
    filter.log(spdlog::details::log_msg(time, {}, "test", level, text));
  }

  std::shared_ptr<Kept> kept = std::make_shared<Kept>();
  RepeatFilter filter{kept, 2, std::chrono::seconds(10)};
};

TEST_F(RepeatFilterTest, LeavesOutWhatRepeatsButForItsNumbersAndSaysHowOften) {
  const uint64_t before = CountsOfLogs().suppressed;
  for (int i = 0; i < 1000; ++i) Log(0, "peer 127.0.0.1:" + std::to_string(4000 + i) + " failed");
  EXPECT_THAT(kept->lines, ElementsAre("peer 127.0.0.1:4000 failed", "peer 127.0.0.1:4001 failed"));
  EXPECT_EQ(CountsOfLogs().suppressed - before, 998u);
  Log(11, "something else");
  EXPECT_THAT(kept->lines,
              ElementsAre("peer 127.0.0.1:4000 failed", "peer 127.0.0.1:4001 failed",
                          "998 more lines like this one were left out: peer 127.0.0.1:4000 failed",
                          "something else"));
}

TEST_F(RepeatFilterTest, KnowsOtherWordsOtherLevelsAndOtherFieldsApart) {
  for (int i = 0; i < 2; ++i) {
    Log(0, "failed");
    Log(0, "failed", spdlog::level::err);
    Log(0, "failed too");
    Log(0, "failed" + Fields({{"group", "g1"}}));
    Log(0, "failed" + Fields({{"group", "g2"}}));
  }
  EXPECT_EQ(kept->lines.size(), 10u);
}

TEST_F(RepeatFilterTest, LetsTheSameThroughAgainAfterThePeriod) {
  for (int i = 0; i < 3; ++i) Log(0, "failed");
  Log(20, "failed");
  EXPECT_THAT(kept->lines, ElementsAre("failed", "failed", HasSubstr("1 more line"), "failed"));
}

TEST_F(RepeatFilterTest, SaysAtTheEndWhatWasLeftOut) {
  for (int i = 0; i < 5; ++i) Log(0, "failed");
  filter.flush();
  EXPECT_THAT(kept->lines, ElementsAre("failed", "failed", HasSubstr("3 more lines")));
}

TEST_F(RepeatFilterTest, KeepsNoMemoryOfEndlesslyManyKinds) {
  for (int i = 0; i < 5000; ++i) Log(0, std::string(1 + i % 2000, 'a'));
  EXPECT_GT(kept->lines.size(), 2000u);
}

}  // namespace
}  // namespace vixen::telemetry
