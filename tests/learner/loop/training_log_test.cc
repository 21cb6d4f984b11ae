// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/training_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace vixen::learner {
namespace {

std::string LogPath() {
  return testing::TempDir() + "training_log_test_" + std::to_string(getpid()) + ".jsonl";
}

LogWindow WindowOfTwoUpdates() {
  LogWindow window;
  window.Add({.loss = 1, .mean_abs_td = 2, .mean_q = 3, .max_q = -4, .gradient_norm = 5});
  window.Add({.loss = 3, .mean_abs_td = 2, .mean_q = 3, .max_q = -6, .gradient_norm = 5});
  window.rows = 200;
  window.batches = 2;
  window.staleness = 3;
  window.launches.valid_rows = 100;
  window.launches.term_sum[0] = 50;
  return window;
}

TEST(TrainingLog, WritesOneObjectALineAndAppendsOnResume) {
  const std::string path = LogPath();
  for (bool append : {false, true}) {
    TrainingLog log;
    ASSERT_TRUE(log.Open(path, append).ok());
    ASSERT_TRUE(log.Write({.transitions = 200, .updates = 2}, WindowOfTwoUpdates(), 2.0).ok());
  }
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    const nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object.at("loss"), 2.0);
    EXPECT_EQ(object.at("q_max"), -4.0);
    EXPECT_EQ(object.at("staleness_versions"), 1.5);
    EXPECT_EQ(object.at("transitions_per_second"), 100.0);
    EXPECT_EQ(object.at("reward_mean").at("pnl"), 0.5);
    ++lines;
  }
  EXPECT_EQ(lines, 2);
  std::remove(path.c_str());
}

TEST(TrainingLog, LeavesNullWhatTheWindowDoesNotKnow) {
  const std::string path = LogPath();
  TrainingLog log;
  ASSERT_TRUE(log.Open(path, false).ok());
  ASSERT_TRUE(log.Write(LogState(), LogWindow(), 1.0).ok());
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const nlohmann::json object = nlohmann::json::parse(line);
  EXPECT_TRUE(object.at("loss").is_null());
  EXPECT_TRUE(object.at("reward_mean").at("pnl").is_null());
  std::remove(path.c_str());
}

TEST(TrainingLog, NamesAFileThatCannotBeOpened) {
  TrainingLog log;
  const absl::Status status = log.Open("/nonexistent/training.jsonl", false);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr("/nonexistent/training.jsonl"));
}

TEST(ProgressLine, ShowsRatesRewardsAndTheTimeLeft) {
  LogState state;
  state.transitions = 5000;
  state.epsilon = 0.25;
  state.eta_seconds = 83;
  const std::string line = ProgressLine(state, WindowOfTwoUpdates(), 2.0);
  EXPECT_THAT(line, testing::HasSubstr("5000 transitions  100/s  1 updates/s  ε 0.250  loss 2"));
  EXPECT_THAT(line, testing::HasSubstr("pnl +0.5"));
  EXPECT_THAT(line, testing::HasSubstr("stale 1.5"));
  EXPECT_THAT(line, testing::HasSubstr("ETA 1:23"));
}

}  // namespace
}  // namespace vixen::learner
