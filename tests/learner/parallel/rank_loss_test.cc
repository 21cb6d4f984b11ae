// SPDX-License-Identifier: Apache-2.0
// What the others do when a rank is gone, silent, late or frozen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "learner/parallel/ranks.h"
#include "tests/learner/parallel/processes.h"

namespace vixen::learner {
namespace {

std::unique_ptr<Ranks> Join(int rank, int world, uint16_t port, std::chrono::milliseconds timeout) {
  RankOptions options = OptionsOf(rank, world, port);
  options.timeout = timeout;
  return MustJoin(options);
}

LossWaits WaitsToGoOn(const Ranks& ranks) {
  return WaitsAfterLoss(ranks.timeout(), /*on_gpus=*/false, /*go_on=*/true);
}

// Sums rank + 1 until it fails, then goes on with who is left.
std::string SumThenGoOn(Ranks& ranks) {
  std::vector<float> value(1000);
  absl::Status status;
  while (status.ok()) {
    std::fill(value.begin(), value.end(), static_cast<float>(ranks.rank() + 1));
    status = ranks.Sum(value);
  }
  const absl::StatusOr<Ranks::Survivors> survivors = ranks.FindSurvivors(WaitsToGoOn(ranks), [] {});
  if (!survivors.ok()) return survivors.status().ToString();
  if (const absl::Status on = ranks.GoOnWith(*survivors); !on.ok()) return on.ToString();
  std::fill(value.begin(), value.end(), static_cast<float>(ranks.rank() + 1));
  if (const absl::Status summed = ranks.Sum(value); !summed.ok()) return summed.ToString();
  return absl::StrCat(absl::StatusCodeToString(status.code()), "; lost ",
                      absl::StrJoin(survivors->lost, ","), "; sum ", value[0], " of ",
                      ranks.size());
}

TEST(Ranks, GoOnWithoutOneThatDied) {
  const std::vector<std::string> results = InProcesses(3, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = Join(rank, 3, port, std::chrono::milliseconds(3'000));
    std::vector<float> value(1000);
    if (rank == 1) {
      for (int i = 0; i < 3; ++i) (void)ranks->Sum(value);
      _exit(1);
    }
    return SumThenGoOn(*ranks);
  });
  EXPECT_EQ(results[0], "UNAVAILABLE; lost 1; sum 4 of 2");
  EXPECT_EQ(results[2], "UNAVAILABLE; lost 1; sum 4 of 2");
}

TEST(Ranks, GoOnWithoutOneThatIsSilentAndTellItSo) {
  const std::vector<std::string> results = InProcesses(3, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = Join(rank, 3, port, std::chrono::milliseconds(1500));
    if (rank != 2) return SumThenGoOn(*ranks);
    // Longer than the timeout and the time in which the others look for it.
    std::this_thread::sleep_for(std::chrono::milliseconds(7'000));
    return SumThenGoOn(*ranks);
  });
  EXPECT_EQ(results[0], "UNAVAILABLE; lost 2; sum 3 of 2");
  EXPECT_EQ(results[1], "UNAVAILABLE; lost 2; sum 3 of 2");
  EXPECT_THAT(results[2], testing::StartsWith("UNAVAILABLE: "));
}

// Others wait in a sum when one of them is killed there; one more is busy with something else, for
// just as long as is no loss yet.
TEST(Ranks, GoOnWithOneThatNoticesTheLossLate) {
  const std::vector<std::string> results = InProcesses(4, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = Join(rank, 4, port, std::chrono::milliseconds(6'000));
    std::vector<float> value(1000);
    for (int i = 0; i < 3; ++i) (void)ranks->Sum(value);
    if (rank == 1) {
      std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        raise(SIGKILL);
      }).detach();
      (void)ranks->Sum(value);
    }
    if (rank == 3) std::this_thread::sleep_for(std::chrono::milliseconds(3'000));
    return SumThenGoOn(*ranks);
  });
  EXPECT_EQ(results[1], "");
  for (const int rank : {0, 2, 3}) EXPECT_EQ(results[rank], "UNAVAILABLE; lost 1; sum 8 of 3");
}

TEST(Ranks, GoOnWithoutOneThatDiesWhileTheyJoinAnew) {
  const std::vector<std::string> results = InProcesses(4, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = Join(rank, 4, port, std::chrono::milliseconds(3'000));
    std::vector<float> value(1000);
    for (int i = 0; i < 3; ++i) (void)ranks->Sum(value);
    if (rank == 1) raise(SIGKILL);
    std::string lost;
    absl::Status status = ranks->Sum(value);
    while (absl::IsUnavailable(status)) {
      const absl::StatusOr<Ranks::Survivors> survivors =
          ranks->FindSurvivors(WaitsToGoOn(*ranks), [] {});
      if (!survivors.ok()) return survivors.status().ToString();
      absl::StrAppend(&lost, absl::StrJoin(survivors->lost, ","), ";");
      if (rank == 2) raise(SIGKILL);
      status = ranks->GoOnWith(*survivors);
      std::fill(value.begin(), value.end(), static_cast<float>(rank + 1));
      if (status.ok()) status = ranks->Sum(value);
    }
    return absl::StrCat(status.ToString(), ", lost ", lost, " sum ", value[0], " of ",
                        ranks->size());
  });
  for (const int rank : {0, 3}) EXPECT_EQ(results[rank], "OK, lost 1;2; sum 5 of 2");
}

TEST(Ranks, StopWithoutRankZero) {
  const std::vector<std::string> results = InProcesses(2, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = MustJoin(OptionsOf(rank, 2, port));
    if (rank == 0) {
      // Once both are there: a join that fails is another matter.
      std::vector<float> value(1000);
      (void)ranks->Sum(value);
      _exit(1);
    }
    return SumThenGoOn(*ranks);
  });
  EXPECT_THAT(results[1], testing::StartsWith("UNAVAILABLE: rank 0 is lost"));
}

// Both waits take 3 s here: rank 0's for the dead one, the other's for rank 0's word.
TEST(Ranks, SayThatTheyLiveWhileTheyLookForTheOthers) {
  const std::vector<std::string> results = InProcesses(3, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = Join(rank, 3, port, std::chrono::milliseconds(2'000));
    std::vector<float> value(1000);
    (void)ranks->Sum(value);
    if (rank == 2) raise(SIGKILL);
    while (ranks->Sum(value).ok()) {
    }
    int calls = 0;
    const absl::StatusOr<Ranks::Survivors> survivors =
        ranks->FindSurvivors(WaitsToGoOn(*ranks), [&calls] { ++calls; });
    return survivors.ok() && calls >= 5 ? absl::StrJoin(survivors->lost, ",")
                                        : absl::StrCat(survivors.status().ToString(), calls);
  });
  for (const int rank : {0, 1}) EXPECT_EQ(results[rank], "2");
}

// Its store has taken the question then, and never answers.
TEST(Ranks, StopWithoutAFrozenRankZero) {
  const std::vector<std::string> results = InProcesses(2, [](int rank, uint16_t port) {
    const std::unique_ptr<Ranks> ranks = Join(rank, 2, port, std::chrono::milliseconds(1'000));
    const std::vector<double> mine = {static_cast<double>(getpid())};
    const auto leader = static_cast<pid_t>((*ranks->Gather(mine))[0]);
    if (rank == 0) raise(SIGSTOP);
    std::vector<float> value(1000);
    while (ranks->Sum(value).ok()) {
    }
    int calls = 0;
    const absl::Status status =
        ranks
            ->FindSurvivors(WaitsAfterLoss(ranks->timeout(), /*on_gpus=*/false, /*go_on=*/false),
                            [&calls] { ++calls; })
            .status();
    kill(leader, SIGKILL);
    return absl::StrCat(status.ToString(), calls >= 5 ? "" : "; not alive");
  });
  EXPECT_EQ(results[1], "UNAVAILABLE: rank 0 is lost (it does not answer)");
}

}  // namespace
}  // namespace vixen::learner
