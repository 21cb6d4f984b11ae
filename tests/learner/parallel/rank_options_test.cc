// SPDX-License-Identifier: Apache-2.0
#include "learner/parallel/rank_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "learner/device/rank_exchange.h"
#include "proto/config/effective.h"

namespace vixen::learner {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<RankOptions>> Of(const Variables& variables,
                                              v1::LearnerConfig config = {}) {
  config::FillDefaults(config);
  return RankOptionsOf(config, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables Torchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", "29500"}};
}

TEST(RankOptions, ReadsWhatTorchrunSets) {
  Variables variables = Torchrun();
  const RankOptions options = **Of(variables);
  EXPECT_EQ(options.rank, 3);
  EXPECT_EQ(options.world, 4);
  EXPECT_EQ(options.local_rank, 1);
  EXPECT_EQ(options.master, "127.0.0.1");
  EXPECT_EQ(options.port, 29500);
  EXPECT_FALSE(options.serves_store);
  EXPECT_EQ(options.timeout, std::chrono::seconds(30));
  variables["RANK"] = "0";
  EXPECT_TRUE((*Of(variables))->serves_store);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_FALSE((*Of(variables))->serves_store);
}

TEST(RankOptions, TakesAnIndexedJobsIndexForTheRank) {
  Variables variables = Torchrun();
  variables.erase("RANK");
  variables["JOB_COMPLETION_INDEX"] = "2";
  EXPECT_EQ((*Of(variables))->rank, 2);
  variables["RANK"] = "1";
  EXPECT_EQ((*Of(variables))->rank, 1);
}

TEST(RankOptions, IsAloneWithoutAWorld) {
  EXPECT_FALSE(Of({})->has_value());
  EXPECT_FALSE(Of({{"RANK", "1"}})->has_value());
  EXPECT_FALSE(Of({{"RANK", "0"}, {"WORLD_SIZE", "1"}})->has_value());
}

TEST(RankOptions, NamesTheVariableThatMakesNoSense) {
  for (const auto& [name, value, expected] : std::vector<std::array<std::string, 3>>{
           {"WORLD_SIZE", "0", "WORLD_SIZE is \"0\""},
           {"WORLD_SIZE", "two", "WORLD_SIZE is \"two\""},
           {"RANK", "4", "RANK is \"4\", needed: 0 … 3"},
           {"RANK", "-1", "RANK is \"-1\""},
           {"RANK", "", "RANK is \"\""},
           {"MASTER_PORT", "0", "MASTER_PORT is \"0\", needed: 1 … 65535"},
           {"MASTER_PORT", "", "MASTER_PORT is \"\""},
           {"MASTER_ADDR", "", "MASTER_ADDR is not set"}}) {
    Variables variables = Torchrun();
    variables[name] = value;
    const absl::Status status = Of(variables).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(status.message(), HasSubstr(expected));
  }
}

TEST(RankOptions, MeetsOnLoopbackOnlyUnlessInsecureIsSaid) {
  Variables variables = Torchrun();
  variables["MASTER_ADDR"] = "trainer-0.trainer";
  const absl::Status status = Of(variables).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("trainer-0.trainer"));
  v1::LearnerConfig config;
  config.mutable_tls()->set_insecure(true);
  EXPECT_TRUE(Of(variables, config).ok());
}

TEST(RankOptions, SetsRanksOfOneCommandLineApart) {
  v1::LearnerConfig config;
  config.set_metrics_listen("127.0.0.1:9091");
  config.set_listen("127.0.0.1:0");
  config.set_out("out");
  config.set_port_file("ports");
  RankOptions rank;
  rank.world = 4;
  v1::LearnerConfig first = config;
  SetApart(rank, first);
  EXPECT_EQ(first.out(), "out");
  EXPECT_EQ(first.metrics_listen(), "127.0.0.1:9091");
  rank.rank = 3;
  rank.local_rank = 1;
  SetApart(rank, config);
  EXPECT_EQ(config.out(), "out/rank-3");
  EXPECT_EQ(config.metrics_listen(), "127.0.0.1:9092");
  EXPECT_EQ(config.listen(), "127.0.0.1:0");
  EXPECT_EQ(config.port_file(), "ports-3");
  EXPECT_EQ(config.checkpoint().checkpoint_folder(), "");
}

TEST(RankOptions, ADisagreementNamesRankSettingAndBothValues) {
  v1::LearnerConfig one, other;
  one.set_out("here");
  config::FillDefaults(one);
  config::FillDefaults(other);
  EXPECT_TRUE(CheckAgreement({SharedSettings(one), SharedSettings(other)}).ok());
  other.mutable_trainer()->set_learning_rate(0.25);
  const absl::Status status =
      CheckAgreement({SharedSettings(one), SharedSettings(one), SharedSettings(other)});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "the ranks disagree: rank 2 has learning_rate 0.25, rank 0 has 0.0005");
}

// Every rank that lives must be able to arrive before rank 0 goes on with the rest.
TEST(WaitsAfterLoss, ToGoOnRankZeroWaitsForTheLastThatCanNotice) {
  using std::chrono::milliseconds;
  for (const milliseconds timeout :
       {milliseconds(500), milliseconds(30'000), milliseconds(600'000)}) {
    EXPECT_GT(WaitsAfterLoss(timeout, /*on_gpus=*/false, /*go_on=*/true).gather, timeout);
    // On the GPUs: a sum stands still, or the others do not come; then what waits there is ended.
    EXPECT_GT(WaitsAfterLoss(timeout, /*on_gpus=*/true, /*go_on=*/true).gather,
              std::max(timeout, NcclJoinTimeout(timeout)) + 2 * kLongestEnd);
  }
}

TEST(WaitsAfterLoss, ToStopRankZeroWaitsTenSecondsAtMostAndTheOthersForIt) {
  using std::chrono::milliseconds;
  for (const bool on_gpus : {false, true}) {
    const LossWaits waits = WaitsAfterLoss(milliseconds(30'000), on_gpus, /*go_on=*/false);
    EXPECT_EQ(waits.gather, milliseconds(10'000));
    EXPECT_EQ(waits.notice, WaitsAfterLoss(milliseconds(30'000), on_gpus, true).notice);
    EXPECT_EQ(WaitsAfterLoss(milliseconds(2'000), on_gpus, false).gather, milliseconds(2'000));
  }
}

}  // namespace
}  // namespace vixen::learner
