// SPDX-License-Identifier: Apache-2.0
// Several learners with GPUs: gradients through the host (Gloo) and on the GPUs (NCCL). Each rank
// is a process; those of NCCL need a GPU each, and are skipped where there are too few.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "learner/device/device_updater.h"
#include "learner/device/rank_exchange.h"
#include "learner/parallel/ranks.h"
#include "learner/trainer/device.h"
#include "learner/trainer/initial_weights.h"
#include "learner/trainer/trainer.h"
#include "tests/gpu/hold.h"
#include "tests/gpu/updater_cases.h"
#include "tests/learner/parallel/processes.h"

namespace vixen::learner {
namespace {

using kernels::Parameters;
using kernels::WeightsKind;
using testing::HasSubstr;

enum class Exchange { kGloo, kNccl };

// Asked in a process of its own, as one that has used CUDA must not fork.
int Gpus() {
  static const int gpus = [] {
    const std::vector<std::string> said =
        InProcesses(1, [](int, uint16_t) { return std::to_string(UpdaterGpus()); });
    int count = 0;
    return absl::SimpleAtoi(said[0], &count) ? count : 0;
  }();
  return gpus;
}

std::string Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// One rank in its process. An error anywhere ends the process, so that the test sees it by what is
// missing from the result.
struct Rank {
  Rank(int rank, int world, uint16_t port, Exchange exchange, const Case& given,
       std::chrono::milliseconds timeout = std::chrono::milliseconds(20'000))
      : c(given), features(Features(given.trainer)) {
    StopFlag never;
    RankOptions options = OptionsOf(rank, world, port);
    ranks = Need(Ranks::Join(options, never));
    ranks->Begin();
    c.device.gpu = rank % UpdaterGpus();
    c.device.average = [this](std::span<float> values) {
      const absl::Status summed = ranks->Sum(values);
      const auto share = static_cast<float>(1.0 / static_cast<double>(ranks->size()));
      for (float& value : values) value *= share;
      return summed;
    };
    updater =
        Need(MakeDeviceUpdater(c.device, c.replay, c.trainer, features,
                               InitialWeights(c.trainer.architecture, WeightsKind::kOnline, 3),
                               InitialWeights(c.trainer.architecture, WeightsKind::kTarget, 4)));
    if (exchange == Exchange::kNccl) {
      std::string id = rank == 0 ? Need(NewNcclId()) : std::string(kNcclIdBytes, '\0');
      Need(ranks->CopyFromLeader(std::as_writable_bytes(std::span<char>(id.data(), id.size()))));
      Need(updater->JoinRanks({.id = id, .place = rank, .size = world, .timeout = timeout}));
    }
    Need(updater->Insert(Rows(c.trainer, 5'000, static_cast<uint64_t>(rank) + 1)));
  }

  // As the learner does before a launch.
  double LeastShare() {
    const std::vector<double> mine = {Need(updater->LeastShare())};
    const std::span<const double> all = Need(ranks->Gather(mine));
    return *std::min_element(all.begin(), all.end());
  }
  std::vector<float> Networks() const {
    std::vector<float> values = updater->Export(WeightsKind::kOnline)->values;
    const std::vector<float> target = updater->Export(WeightsKind::kTarget)->values;
    values.insert(values.end(), target.begin(), target.end());
    return values;
  }

  static void Need(const absl::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    _exit(1);
  }
  template <typename T>
  static T Need(absl::StatusOr<T> value) {
    Need(value.status());
    return *std::move(value);
  }

  Case c;
  std::vector<float> features;
  std::unique_ptr<Ranks> ranks;
  std::unique_ptr<Updater> updater;
};

class DeviceRanks : public testing::TestWithParam<Exchange> {
 protected:
  void SetUp() override {
    if (Gpus() == 0) GTEST_SKIP() << "no GPU";
    if (GetParam() == Exchange::kNccl && Gpus() < kWorld) GTEST_SKIP() << "one GPU";
  }
  static constexpr int kWorld = 2;
};

constexpr int kUpdates = 8;

// Appends what an update was made from.
void Record(const Minibatch& batch, std::vector<float>& to) {
  to.insert(to.end(), batch.states.begin(), batch.states.end());
  for (uint32_t i = 0; i < batch.rows; ++i) {
    to.insert(to.end(), {static_cast<float>(batch.action[i]), batch.reward[i], batch.discount[i],
                         batch.weight[i]});
  }
}

// Rows of one rank's record into the joint minibatch.
void Join(const float*& from, uint32_t rows, uint32_t first, Minibatch& joint) {
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t i = 0; i < rows; ++i, from += joint.state) {
      std::copy_n(from, joint.state,
                  joint.states.data() + size_t{half * joint.rows + first + i} * joint.state);
    }
  }
  for (uint32_t i = first; i < first + rows; ++i, from += 4) {
    joint.action[i] = static_cast<uint8_t>(from[0]);
    joint.reward[i] = from[1];
    joint.discount[i] = from[2];
    joint.weight[i] = from[3];
  }
}

TEST_P(DeviceRanks, TrainAsOneLearnerWithTheJointBatch) {
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(kWorld, [&](int number, uint16_t port) {
    Rank rank(number, kWorld, port, GetParam(), c);
    std::vector<float> record;
    double loss = 0;
    for (int i = 0; i < kUpdates; ++i) {
      loss += Rank::Need(rank.updater->Update(1, rank.LeastShare())).statistics[0].loss;
      Record(*Rank::Need(rank.updater->minibatch()), record);
    }
    std::vector<float> result = rank.Networks();
    result.push_back(static_cast<float>(loss));
    result.insert(result.end(), record.begin(), record.end());
    return Bytes(result);
  });

  TrainerOptions options = c.trainer;
  options.batch_size *= kWorld;
  const Parameters start = InitialWeights(options.architecture, WeightsKind::kOnline, 3);
  const std::unique_ptr<Trainer> alone = *Trainer::Create(
      options, start, InitialWeights(options.architecture, WeightsKind::kTarget, 4));
  const size_t networks = 2 * start.values.size() + 1;
  std::vector<std::vector<float>> values;
  std::vector<const float*> at;
  for (const std::string& result : results) {
    values.push_back(Floats(result));
    ASSERT_GT(values.back().size(), networks) << "a rank failed";
  }
  for (const std::vector<float>& each : values) at.push_back(each.data() + networks);
  double loss = 0;
  for (int i = 0; i < kUpdates; ++i) {
    for (uint32_t rank = 0; rank < kWorld; ++rank) {
      Join(at[rank], c.trainer.batch_size, rank * c.trainer.batch_size, alone->minibatch());
    }
    const auto updated = alone->Update();
    ASSERT_TRUE(updated.ok()) << updated.status();
    loss += updated->loss;
  }
  std::vector<float> expected = alone->Export(WeightsKind::kOnline).values;
  const std::vector<float> target = alone->Export(WeightsKind::kTarget).values;
  expected.insert(expected.end(), target.begin(), target.end());
  expected.push_back(static_cast<float>(loss));
  double largest = 0;
  for (size_t i = 0; i < networks; ++i) {
    EXPECT_EQ(values[0][i], values[1][i]) << i;  // equal bit by bit among the ranks
    ASSERT_NEAR(values[0][i], expected[i], 2e-5) << i;
    largest = std::max<double>(largest, std::fabs(values[0][i] - expected[i]));
  }
  std::printf("    largest difference from the joint batch %.2e\n", largest);
}

TEST_P(DeviceRanks, AllStopAtOneRanksNotANumberInsideALaunch) {
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(kWorld, [&](int number, uint16_t port) {
    Rank rank(number, kWorld, port, GetParam(), c);
    if (number == 1) rank.updater->SpoilReward(7);
    absl::Status status;
    for (int launch = 0; launch < 10 && status.ok(); ++launch) {
      status = rank.updater->Update(16, rank.LeastShare()).status();
    }
    const bool spoiled = std::isnan(Rank::Need(rank.updater->minibatch())->reward[0]);
    bool finite = true;
    double sum = 0;
    for (const float x : rank.Networks()) {
      finite = finite && std::isfinite(x);
      sum += x;
    }
    return absl::StrCat(status.ToString(), "; made ", rank.updater->updates(),
                        spoiled ? ", spoiled" : "", finite ? ", finite " : ", broken ", sum);
  });
  EXPECT_THAT(results[0], HasSubstr("DATA_LOSS: another rank's loss at update 7 is not finite"));
  EXPECT_THAT(results[1], HasSubstr("DATA_LOSS: this rank's, nan: loss at update 7 is not finite"));
  EXPECT_THAT(results[0], HasSubstr("; made 6, finite "));
  EXPECT_THAT(results[1], HasSubstr("; made 6, spoiled, finite "));
  EXPECT_EQ(results[0].substr(results[0].find("finite ")),
            results[1].substr(results[1].find("finite ")));
}

INSTANTIATE_TEST_SUITE_P(Through, DeviceRanks, testing::Values(Exchange::kGloo, Exchange::kNccl),
                         [](const auto& info) {
                           return info.param == Exchange::kGloo ? "Gloo" : "Nccl";
                         });

// Over as many GPUs as there are, one or two.
class NcclRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (Gpus() == 0) GTEST_SKIP() << "no GPU";
    world_ = std::min(2, Gpus());
    const std::vector<std::string> said =
        InProcesses(1, [](int, uint16_t) { return OfferNccl(0).obstacle; });
    if (!said[0].empty()) GTEST_SKIP() << said[0];
  }
  int world_ = 1;
};

TEST_F(NcclRanks, ALaunchOfManyUpdatesIsManyLaunchesOfOne) {
  Case c = SmallCase();
  c.replay.alpha = 0;  // with priorities the least share is that of the launch's begin
  std::vector<std::vector<std::string>> results;
  for (const uint64_t at_once : {16, 1}) {
    results.push_back(InProcesses(world_, [&](int number, uint16_t port) {
      Rank rank(number, world_, port, Exchange::kNccl, c);
      while (rank.updater->updates() < 48) {
        Rank::Need(rank.updater->Update(at_once, rank.LeastShare()).status());
      }
      return Bytes(rank.Networks());
    }));
    for (const std::string& result : results.back()) {
      ASSERT_FALSE(result.empty());
      EXPECT_EQ(result, results.back()[0]) << "among the ranks";
    }
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(NcclRanks, AloneInItsGroupComputesAsWithoutOne) {
  const Case c = DefaultCase();
  const std::vector<std::string> results = InProcesses(1, [&](int, uint16_t port) {
    Rank rank(0, 1, port, Exchange::kNccl, c);
    Case alone = rank.c;
    alone.device.average = nullptr;
    const std::unique_ptr<Updater> other = Rank::Need(
        MakeDeviceUpdater(alone.device, alone.replay, alone.trainer, rank.features,
                          InitialWeights(c.trainer.architecture, WeightsKind::kOnline, 3),
                          InitialWeights(c.trainer.architecture, WeightsKind::kTarget, 4)));
    Rank::Need(other->Insert(Rows(c.trainer, 5'000, 1)));
    for (int i = 0; i < 4; ++i) {
      Rank::Need(rank.updater->Update(16, 0).status());
      Rank::Need(other->Update(16, 0).status());
    }
    const bool equal = rank.Networks() == [&] {
      std::vector<float> values = other->Export(WeightsKind::kOnline)->values;
      const std::vector<float> target = other->Export(WeightsKind::kTarget)->values;
      values.insert(values.end(), target.begin(), target.end());
      return values;
    }();
    return std::string(equal ? "equal" : "other");
  });
  EXPECT_EQ(results[0], "equal");
}

TEST_F(NcclRanks, GoOnWithoutOneThatDiedFromTheLastWholeUpdate) {
  if (world_ < 2) GTEST_SKIP() << "one GPU";
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(2, [&](int number, uint16_t port) {
    Rank rank(number, 2, port, Exchange::kNccl, c, std::chrono::milliseconds(1'500));
    for (int i = 0; i < 3; ++i) {
      Rank::Need(rank.updater->Update(16, rank.LeastShare()).status());
    }
    if (number == 1) _exit(0);
    const std::vector<float> before = rank.Networks();
    const auto start = std::chrono::steady_clock::now();
    std::fprintf(stderr, "    waiting for the one that died\n");
    const absl::Status lost = rank.updater->Update(16, 0).status();
    std::fprintf(stderr, "    %s\n", lost.ToString().c_str());
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool kept = rank.Networks() == before;
    Rank::Need(rank.updater->JoinRanks({.id = Rank::Need(NewNcclId()), .place = 0, .size = 1}));
    const absl::Status on = rank.updater->Update(16, 0).status();
    std::fprintf(stderr, "    the loss was found after %.2f s\n", seconds);
    return absl::StrCat(lost.ToString(), kept ? "; kept" : "; changed", "; then ", on.ToString(),
                        ", made ", rank.updater->updates());
  });
  EXPECT_THAT(results[0], HasSubstr("UNAVAILABLE: "));
  EXPECT_THAT(results[0], HasSubstr("; kept; then OK, made 64"));
}

// One is killed where the others wait for it in a launch, on their GPUs alone.
TEST_F(NcclRanks, SeveralSurvivorsOfOneThatDiedInALaunchGoOnEqual) {
  if (Gpus() < 3) GTEST_SKIP() << Gpus() << " GPUs";
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(3, [&](int number, uint16_t port) {
    constexpr std::chrono::milliseconds kTimeout{3'000};
    Rank rank(number, 3, port, Exchange::kNccl, c, kTimeout);
    for (int i = 0; i < 3; ++i) {
      Rank::Need(rank.updater->Update(16, rank.LeastShare()).status());
    }
    (void)rank.LeastShare();  // all are about to launch
    if (number == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      raise(SIGKILL);
    }
    const absl::Status lost = rank.updater->Update(16, 0).status();
    const Ranks::Survivors survivors = Rank::Need(rank.ranks->FindSurvivors(
        WaitsAfterLoss(kTimeout, /*on_gpus=*/true, /*go_on=*/true), [] {}));
    Rank::Need(rank.ranks->GoOnWith(survivors));
    std::string id = number == 0 ? Rank::Need(NewNcclId()) : std::string(kNcclIdBytes, '\0');
    Rank::Need(
        rank.ranks->CopyFromLeader(std::as_writable_bytes(std::span<char>(id.data(), id.size()))));
    Rank::Need(rank.updater
                   ->JoinRanks({.id = id,
                                .place = static_cast<int>(rank.ranks->place()),
                                .size = static_cast<int>(rank.ranks->size()),
                                .timeout = kTimeout})
                   .status());
    for (int i = 0; i < 3; ++i) {
      Rank::Need(rank.updater->Update(16, rank.LeastShare()).status());
    }
    return absl::StrCat(absl::StatusCodeToString(lost.code()), " ", rank.updater->updates(), " ",
                        Bytes(rank.Networks()));
  });
  EXPECT_THAT(results[0], testing::StartsWith("UNAVAILABLE 96 "));
  EXPECT_TRUE(results[0] == results[2]);
}

TEST_F(NcclRanks, AnExchangeThatBrokeBeginsAnewThroughTheHostAndOnTheGpus) {
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(1, [&](int, uint16_t port) {
    Rank rank(0, 1, port, Exchange::kNccl, c);
    Rank::Need(rank.updater->Update(16, 0).status());
    const std::vector<float> before = rank.Networks();
    const absl::StatusOr<uint64_t> alone =
        rank.updater->JoinRanks({.id = Rank::Need(NewNcclId()),
                                 .place = 0,
                                 .size = 2,
                                 .join_timeout = std::chrono::milliseconds(1'000)});
    std::string result = absl::StrCat(absl::StatusCodeToString(alone.status().code()), " ");
    for (int i = 0; i < 2; ++i) {
      const absl::Status refused = rank.updater->Update(16, 0).status();
      absl::StrAppend(&result, absl::StatusCodeToString(refused.code()), " ");
    }
    absl::StrAppend(&result, rank.Networks() == before ? "kept" : "changed", " ");
    Rank::Need(rank.updater->AverageThroughHost());
    Rank::Need(rank.updater->Update(16, 0).status());
    absl::StrAppend(&result, rank.updater->updates(), " ");
    const uint64_t taken =
        Rank::Need(rank.updater->JoinRanks({.id = Rank::Need(NewNcclId()), .place = 0, .size = 1}));
    std::fprintf(stderr, "    NCCL took %.0f MiB\n", static_cast<double>(taken) / (1 << 20));
    Rank::Need(rank.updater->Update(16, 0).status());
    absl::StrAppend(&result, rank.updater->updates());
    return result;
  });
  EXPECT_EQ(results[0], "UNAVAILABLE FAILED_PRECONDITION FAILED_PRECONDITION kept 17 33");
}

// Something else keeps the whole GPU for ever: what waits in a launch cannot be ended.
TEST_F(NcclRanks, WhatCannotBeEndedIsSaidByEveryCallAtOnce) {
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(1, [&](int, uint16_t port) {
    // Never destroyed: that would wait for the GPU.
    Rank& rank = *new Rank(0, 1, port, Exchange::kNccl, c, std::chrono::milliseconds(500));
    Updater& updater = *rank.updater;
    Rank::Need(updater.Update(16, 0).status());
    Rank::Need(updater.Held());
    if (!HoldTheDevice(rank.c.device.gpu)) return std::string("the GPU is not held");
    const absl::Status held = updater.Update(16, 0).status();
    ReplayCut cut;
    CuriosityMinibatch curiosity(c.trainer.batch_size, c.trainer.architecture);
    std::string result = std::string(held.message());
    for (const absl::Status& status :
         {held, updater.Held(), updater.Update(1, 0).status(),
          updater.Export(WeightsKind::kOnline).status(), updater.SaveTrainer().status(),
          updater.RestoreTrainer({}), updater.SaveReplay(cut), updater.RestoreReplay(cut),
          updater.Insert(Rows(c.trainer, 10, 1)), updater.LeastShare().status(),
          updater.minibatch().status(), updater.GatherLast(curiosity), updater.AverageThroughHost(),
          updater.JoinRanks({}).status()}) {
      absl::StrAppend(&result, absl::IsDeadlineExceeded(status) ? " d" : status.ToString());
    }
    return result;
  });
  EXPECT_EQ(results[0],
            "the GPUs' sum stands still for 500 ms: another rank is lost; what waits for it on GPU "
            "0 could not be ended within 10 s d d d d d d d d d d d d d d");
}

TEST_F(NcclRanks, OneThatDoesNotComeIsFoundOutByTheDeadline) {
  const Case c = SmallCase();
  const std::vector<std::string> results = InProcesses(1, [&](int, uint16_t port) {
    Rank rank(0, 1, port, Exchange::kGloo, c);
    const absl::Status status = rank.updater
                                    ->JoinRanks({.id = Rank::Need(NewNcclId()),
                                                 .place = 0,
                                                 .size = 2,
                                                 .join_timeout = std::chrono::milliseconds(1'000)})
                                    .status();
    return status.ToString();
  });
  EXPECT_THAT(results[0], HasSubstr("UNAVAILABLE: place 0 of 2 waited 1000 ms"));
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // No OpenMP threads: the tests fork.
  if (!vixen::learner::SetUpDevices("cpu", 0, 1).ok()) return 1;
  return RUN_ALL_TESTS();
}
