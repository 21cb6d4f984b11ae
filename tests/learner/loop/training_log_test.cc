// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/training_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
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

TEST(TrainingLog, TellsDistributionsAndShares) {
  const std::string path = LogPath();
  LogWindow window = WindowOfTwoUpdates();
  for (int i = 0; i <= 100; ++i) {
    window.abs_td.push_back(static_cast<float>(100 - i));
    window.taken_q.push_back(static_cast<float>(i));
    window.age_versions.push_back(2.0 * i);
    window.age_seconds.push_back(0.5);
  }
  window.samples = 256;
  window.effective_samples = 1.5;
  window.clipped_rows = 0.5;
  window.actions[1] = 30;
  window.actions[37] = 10;
  window.launches.exposure_class[0] = 75;
  window.launches.exposure_class[4] = 25;
  window.launches.term_sum_squares[0] = 25 + 300;  // variance 3 about the mean 0.5
  window.launches.term_sum_squares[2] = 100;       // variance 1
  TrainingLog log;
  ASSERT_TRUE(log.Open(path, false).ok());
  ASSERT_TRUE(log.Write({.learners_needed = 2.5}, window, 2.0).ok());
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const nlohmann::json object = nlohmann::json::parse(line);
  EXPECT_EQ(object.at("td").at("p50"), 50.0);
  EXPECT_EQ(object.at("td").at("max"), 100.0);
  EXPECT_EQ(object.at("q_taken").at("p90"), 90.0);
  EXPECT_EQ(object.at("sampled_age_versions").at("p99"), 198.0);
  EXPECT_EQ(object.at("sampled_age_seconds").at("p10"), 0.5);
  EXPECT_EQ(object.at("effective_sample_share"), 0.75);
  EXPECT_EQ(object.at("clipped_share"), 0.25);
  EXPECT_EQ(object.at("samples_per_second"), 128.0);
  EXPECT_EQ(object.at("learners_needed"), 2.5);
  EXPECT_EQ(object.at("action_share").dump(), R"({"1":0.75,"37":0.25})");
  EXPECT_EQ(object.at("exposure_share").dump(), "[0.75,0.0,0.0,0.0,0.25]");
  EXPECT_NEAR(object.at("reward_variance_share").at("pnl").get<double>(), 0.75, 1e-12);
  EXPECT_NEAR(object.at("reward_variance_share").at("risk").get<double>(), 0.25, 1e-12);
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
  EXPECT_TRUE(object.at("td").is_null());
  EXPECT_TRUE(object.at("learners_needed").is_null());
  EXPECT_TRUE(object.at("exposure_share").at(0).is_null());
  EXPECT_TRUE(object.at("reward_variance_share").at("pnl").is_null());
  std::remove(path.c_str());
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A process that is killed may have written a part of a line, of any length.
TEST(TrainingLog, CutsOffALineThatWasNotFinishedBeforeItAppends) {
  const std::string path = LogPath();
  const std::string whole = "{\"updates\":1}\n";
  for (const std::string& before : {std::string(), whole, whole + std::string(9000, ' ') + "\n"}) {
    for (const std::string& torn :
         {std::string(), std::string("{"), std::string("{\"updates\":2}"), std::string(4095, '{'),
          std::string(4096, '{'), std::string(20000, '{')}) {
      std::ofstream(path, std::ios::binary) << before << torn;
      TrainingLog log;
      ASSERT_TRUE(log.Open(path, true).ok());
      EXPECT_EQ(Contents(path), before) << torn.size();
      ASSERT_TRUE(log.Write({.updates = 3}, WindowOfTwoUpdates(), 1.0).ok());
      const std::string line = Contents(path).substr(before.size());
      EXPECT_EQ(nlohmann::json::parse(line).at("updates"), 3) << torn.size();
      EXPECT_EQ(line.back(), '\n');
    }
  }
  std::remove(path.c_str());
}

TEST(TrainingLog, GoesOnWithTheNextLineWhenTheDiskHasRoomAgain) {
  const std::string path = LogPath();
  std::remove(path.c_str());
  ASSERT_EQ(symlink("/dev/full", path.c_str()), 0);
  TrainingLog log;
  ASSERT_TRUE(log.Open(path, false).ok());
  for (int i = 0; i < 2; ++i) {
    const absl::Status full = log.Write({.updates = 1}, WindowOfTwoUpdates(), 1.0);
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(full.message(), testing::HasSubstr(path));
  }
  ASSERT_EQ(unlink(path.c_str()), 0);
  std::ofstream(path, std::ios::binary) << "{\"updates\":0}\n{\"upd";
  ASSERT_TRUE(log.Write({.updates = 2}, WindowOfTwoUpdates(), 1.0).ok());
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(nlohmann::json::parse(line).at("updates"), 0);
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(nlohmann::json::parse(line).at("updates"), 2);
  EXPECT_FALSE(std::getline(file, line));
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
