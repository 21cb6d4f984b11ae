// SPDX-License-Identifier: Apache-2.0
// Every algorithm of the CUDA executor in every precision, on a GPU: golden cases, step check,
// repetition, parity with the CPU, slots carried over. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/tensor_file.h"
#include "kernels/collect/cuda_collector.h"
#include "kernels/cuda/device.h"
#include "kernels/verify/golden_case.h"
#include "kernels/verify/step_check.h"
#include "tests/golden/golden_folder.h"
#include "tests/gpu/cuda_world.h"

namespace vixen::kernels {
namespace {

std::vector<GoldenCase> GoldenCases() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenFolder(), error)) {
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<GoldenCase> cases;
  for (const std::string& path : paths) {
    absl::StatusOr<base::TensorFile> file = base::TensorFile::Open(path);
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok() || !IsGoldenCase(*file)) continue;
    absl::StatusOr<GoldenCase> golden = ReadGoldenCase(*std::move(file));
    EXPECT_TRUE(golden.ok()) << golden.status();
    if (golden.ok()) cases.push_back(*std::move(golden));
  }
  return cases;
}

struct Variant {
  CudaAlgorithm algorithm;
  Precision precision;
};
std::string NameOf(const testing::TestParamInfo<Variant>& info) {
  return std::string(CudaAlgorithmName(info.param.algorithm)) + "_" +
         std::string(PrecisionName(info.param.precision));
}

class CudaVariant : public testing::TestWithParam<Variant> {
 protected:
  // As many episodes as `wanted`, where the algorithm takes them.
  static uint32_t AtMost(uint32_t wanted) {
    const bool single = GetParam().algorithm == CudaAlgorithm::kResidentSingle;
    if (!single && GetParam().algorithm != CudaAlgorithm::kResident) return wanted;
    const bool one_a_block = single && GetParam().precision == Precision::kTf32;
    const int sms = QueryCudaDevice(0)->multiprocessors;
    return std::min(wanted, static_cast<uint32_t>(one_a_block ? sms : 8 * sms - 6));
  }
  // More than one wave of blocks of those that take any number.
  static uint32_t Many() { return AtMost(1500); }
  void SetUp() override { VIXEN_NEEDS_GPU(); }
};

TEST_P(CudaVariant, PassesTheGoldenCasesThatItCanRunInFp32) {
  if (GetParam().precision != Precision::kFp32) GTEST_SKIP() << "fp32 alone has these tolerances";
  int run = 0;
  for (const GoldenCase& golden : GoldenCases()) {
    const auto result = RunGoldenCase(golden, [](CollectorOptions options) {
      options.precision = Precision::kFp32;
      return MakeCudaCollector(options, 0, GetParam().algorithm);
    });
    // The stepped algorithm runs every width; the others those that they are built for.
    if (absl::IsInvalidArgument(result.status()) &&
        GetParam().algorithm != CudaAlgorithm::kStepped) {
      continue;
    }
    ASSERT_TRUE(result.ok()) << golden.name << ": " << result.status();
    std::printf("  %-16s %s\n", golden.name.c_str(), result->Describe().c_str());
    EXPECT_TRUE(result->passed()) << golden.name << ": " << result->Describe();
    run += 1;
  }
  EXPECT_GT(run, 0);
}

TEST_P(CudaVariant, PassesTheStepCheckOnGoldenCasesThatItCanRun) {
  int run = 0;
  for (const GoldenCase& golden : GoldenCases()) {
    CollectorOptions options = golden.options;
    options.precision = GetParam().precision;
    auto collector = MakeCudaCollector(options, 0, GetParam().algorithm);
    if (absl::IsInvalidArgument(collector.status()) &&
        GetParam().algorithm != CudaAlgorithm::kStepped) {
      continue;
    }
    ASSERT_TRUE(collector.ok()) << collector.status();
    for (const Parameters* parameters : {&golden.online, &golden.target, &golden.curiosity}) {
      if (parameters->values.empty()) continue;
      ASSERT_TRUE((*collector)->StageWeights(*parameters).ok());
      (*collector)->CommitWeights(parameters->kind);
    }
    Batch batch(options.episodes, options.steps, true, true);
    LaunchRequest request;
    request.epsilon = golden.epsilon;
    request.inputs.rng = golden.rng;
    request.inputs.starts = golden.starts;
    ASSERT_TRUE((*collector)->Launch(request, batch).ok());
    const absl::Status status = (*collector)->Wait(batch);
    ASSERT_TRUE(status.ok()) << status;
    const StepCheckResult result = CheckSteps(options, golden.online, golden.target, batch, 1);
    std::printf("  %-16s %s\n", golden.name.c_str(), result.Describe().c_str());
    EXPECT_TRUE(result.passed()) << golden.name << ": " << result.Describe();
    EXPECT_LE(result.largest_td_error, 2 * kStepTolerance) << golden.name;
    run += 1;
  }
  EXPECT_GT(run, 0);
}

// Small enough for the race checker.
TEST_P(CudaVariant, RunsAFewSteps) {
  for (const uint32_t episodes : {3u, AtMost(140)}) {
    World world(episodes, 4, 200);
    world.options.precision = GetParam().precision;
    world.options.settings.double_dqn = true;
    const auto collector = Make(world.options, GetParam().algorithm);
    ASSERT_NE(collector, nullptr);
    world.Push(*collector);
    Batch batch(episodes, 4, true, true);
    LaunchRequest request{.seed = 7, .launch = 3, .epsilon = 0.5f, .inputs = {}, .slot_states = {}};
    ASSERT_TRUE(collector->Launch(request, batch).ok());
    ASSERT_TRUE(collector->Wait(batch).ok());
    EXPECT_EQ(batch.statistics.valid_rows, 4u * episodes);
  }
}

TEST_P(CudaVariant, GivesTheSameBytesForTheSameLaunch) {
  const uint32_t episodes = AtMost(130);
  World world(episodes, 150);
  world.options.precision = GetParam().precision;
  const auto collector = Make(world.options, GetParam().algorithm);
  ASSERT_NE(collector, nullptr);
  world.Push(*collector);
  LaunchRequest request{.seed = 7, .launch = 3, .epsilon = 0.1f, .inputs = {}, .slot_states = {}};
  Batch first(episodes, 150, true);
  Batch second(episodes, 150, true);
  ASSERT_TRUE(collector->Launch(request, first).ok());
  ASSERT_TRUE(collector->Launch(request, second).ok());
  ASSERT_TRUE(collector->Wait(first).ok());
  ASSERT_TRUE(collector->Wait(second).ok());
  EXPECT_TRUE(SameBytes(first, second));
  EXPECT_EQ(first.statistics.valid_rows, episodes * 150u);
}

// Scripted actions take the networks out: rules, random numbers and starts must agree exactly.
void ExpectCpuParity(World& world, CudaAlgorithm algorithm, Precision precision) {
  CollectorOptions cpu_options = world.options;
  cpu_options.precision = Precision::kFp32;
  world.options.precision = precision;
  const auto cuda = Make(world.options, algorithm);
  auto cpu = MakeCpuCollector(cpu_options);
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  ASSERT_NE(cuda, nullptr);
  world.Push(*cuda);
  world.Push(**cpu);
  const uint32_t episodes = world.options.episodes;
  const uint32_t steps = world.options.steps;
  std::mt19937 random(5);
  std::vector<uint8_t> actions(size_t{episodes} * steps);
  for (uint8_t& action : actions) action = static_cast<uint8_t>(random() % kActions);
  LaunchRequest request{.seed = 99, .launch = 0, .epsilon = 0.3f, .inputs = {}, .slot_states = {}};
  request.inputs.actions = actions;
  Batch a(episodes, steps, true);
  Batch b(episodes, steps, true);
  ASSERT_TRUE((*cpu)->Launch(request, a).ok());
  ASSERT_TRUE((*cpu)->Wait(a).ok());
  absl::Status status = cuda->Launch(request, b);
  ASSERT_TRUE(status.ok()) << status;
  status = cuda->Wait(b);
  ASSERT_TRUE(status.ok()) << status;
  for (const ColumnId id : {ColumnId::kBar, ColumnId::kEpisode, ColumnId::kAction, ColumnId::kFlags,
                            ColumnId::kPortfolio, ColumnId::kNextPortfolio}) {
    const auto left = a.Column(id);
    const auto right = b.Column(id);
    const auto at = std::mismatch(left.begin(), left.end(), right.begin()).first - left.begin();
    EXPECT_EQ(at, static_cast<std::ptrdiff_t>(left.size()))
        << kColumns[static_cast<size_t>(id)].name << " differs at byte " << at;
  }
  const BatchView left = a.view();
  const BatchView right = b.view();
  double reward_error = 0;
  for (size_t row = 0; row < a.rows(); ++row) {
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(left.terms[row * 5 + i], right.terms[row * 5 + i]) << row << " " << i;
    }
    reward_error = std::max(reward_error, std::fabs(double{left.reward[row]} - right.reward[row]));
  }
  EXPECT_LT(reward_error, precision == Precision::kFp32 ? 1e-5 : 1e-3);
  EXPECT_EQ(a.statistics.valid_rows, b.statistics.valid_rows);
  EXPECT_EQ(a.statistics.episodes_ended, b.statistics.episodes_ended);
  EXPECT_EQ(a.statistics.episode_length_sum, b.statistics.episode_length_sum);
  EXPECT_EQ(a.statistics.trades, b.statistics.trades);
  EXPECT_EQ(a.statistics.explored, b.statistics.explored);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(a.statistics.barrier_result[i], b.statistics.barrier_result[i]);
    EXPECT_NEAR(a.statistics.term_sum[i], b.statistics.term_sum[i],
                1e-9 * (1 + std::fabs(a.statistics.term_sum[i])));
  }
  EXPECT_NEAR(a.statistics.traded_notional, b.statistics.traded_notional,
              1e-9 * a.statistics.traded_notional);
  EXPECT_NEAR(a.statistics.costs, b.statistics.costs, 1e-9 * a.statistics.costs);
  const std::vector<SlotState> cpu_slots = (*cpu)->SlotStates();
  std::vector<SlotState> cuda_slots = cuda->SlotStates();
  ASSERT_EQ(cuda_slots.size(), cpu_slots.size());
  for (size_t n = 0; n < cpu_slots.size(); ++n) {
    // The running reward holds the networks' curiosity.
    cuda_slots[n].episode_reward = cpu_slots[n].episode_reward;
    EXPECT_EQ(std::memcmp(&cuda_slots[n], &cpu_slots[n], sizeof(SlotState)), 0) << "slot " << n;
  }
}

TEST_P(CudaVariant, AgreesWithTheCpuOverScriptedActions) {
  World world(67, 1500);
  ExpectCpuParity(world, GetParam().algorithm, GetParam().precision);
}

TEST_P(CudaVariant, AgreesWithTheCpuWhenABlockCarriesManyEpisodes) {
  for (const uint32_t episodes : {AtMost(300), Many()}) {
    World world(episodes, 120);
    ExpectCpuParity(world, GetParam().algorithm, GetParam().precision);
  }
}

TEST_P(CudaVariant, PassesTheStepCheckWithManyEpisodesABlock) {
  for (const uint32_t episodes : {AtMost(300), Many()}) {
    World world(episodes, 60);
    world.options.precision = GetParam().precision;
    const auto collector = Make(world.options, GetParam().algorithm);
    ASSERT_NE(collector, nullptr);
    world.Push(*collector);
    Batch batch(episodes, 60, true, true);
    LaunchRequest request{.seed = 5, .launch = 0, .epsilon = 0.1f, .inputs = {}, .slot_states = {}};
    ASSERT_TRUE(collector->Launch(request, batch).ok());
    ASSERT_TRUE(collector->Wait(batch).ok());
    const StepCheckResult result = CheckSteps(world.options, world.online, world.target, batch, 31);
    EXPECT_TRUE(result.passed()) << result.Describe();
    EXPECT_LE(result.largest_td_error, 2 * kStepTolerance);
  }
}

TEST_P(CudaVariant, AgreesWithTheCpuOnRelabelledEpisodesThatEndOnce) {
  World world(33, 700);
  world.options.settings.on_barrier = OnBarrier::kRelabel;
  world.options.settings.recycle = false;
  world.options.settings.max_episode_steps = 411;
  world.options.settings.double_dqn = true;
  ExpectCpuParity(world, GetParam().algorithm, GetParam().precision);
}

TEST_P(CudaVariant, CarriesSlotsOverAndIntoAnotherCollector) {
  World world(20, 90);
  world.options.precision = GetParam().precision;
  world.options.settings.carry_over = true;
  world.options.settings.on_barrier = OnBarrier::kRelabel;
  const auto whole = Make(world.options, GetParam().algorithm);
  const auto second_half = Make(world.options, GetParam().algorithm);
  ASSERT_NE(whole, nullptr);
  ASSERT_NE(second_half, nullptr);
  world.Push(*whole);
  world.Push(*second_half);
  Batch first(20, 90, true);
  Batch second(20, 90, true);
  Batch again(20, 90, true);
  LaunchRequest request{.seed = 1, .launch = 0, .epsilon = 0.2f, .inputs = {}, .slot_states = {}};
  ASSERT_TRUE(whole->Launch(request, first).ok());
  request.launch = 1;
  ASSERT_TRUE(whole->Launch(request, second).ok());
  ASSERT_TRUE(whole->Wait(first).ok());
  ASSERT_TRUE(whole->Wait(second).ok());
  ASSERT_EQ(second.start_states.size(), 20u);
  EXPECT_EQ(second_half->Launch(request, again).code(), absl::StatusCode::kFailedPrecondition);
  request.slot_states = second.start_states;
  ASSERT_TRUE(second_half->Launch(request, again).ok());
  ASSERT_TRUE(second_half->Wait(again).ok());
  EXPECT_TRUE(SameBytes(second, again));
}

INSTANTIATE_TEST_SUITE_P(All, CudaVariant,
                         testing::Values(Variant{CudaAlgorithm::kStepped, Precision::kFp32},
                                         Variant{CudaAlgorithm::kStepped, Precision::kTf32},
                                         Variant{CudaAlgorithm::kStepped, Precision::kFp16},
                                         Variant{CudaAlgorithm::kResidentSingle, Precision::kTf32},
                                         Variant{CudaAlgorithm::kResidentSingle, Precision::kFp16},
                                         Variant{CudaAlgorithm::kTiledMma, Precision::kFp32},
                                         Variant{CudaAlgorithm::kTiledMma, Precision::kTf32},
                                         Variant{CudaAlgorithm::kTiledMma, Precision::kFp16},
                                         Variant{CudaAlgorithm::kTiled, Precision::kFp32},
                                         Variant{CudaAlgorithm::kTiled, Precision::kTf32},
                                         Variant{CudaAlgorithm::kTiled, Precision::kFp16},
                                         Variant{CudaAlgorithm::kResident, Precision::kFp32},
                                         Variant{CudaAlgorithm::kResident, Precision::kTf32},
                                         Variant{CudaAlgorithm::kResident, Precision::kFp16}),
                         NameOf);

}  // namespace
}  // namespace vixen::kernels
