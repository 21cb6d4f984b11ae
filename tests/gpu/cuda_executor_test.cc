// SPDX-License-Identifier: Apache-2.0
// The CUDA executor on a GPU: golden cases, precision, repetition, parity with the CPU, pipeline,
// refusals. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/tensor_file.h"
#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_executor.h"
#include "kernels/verify/golden_case.h"
#include "kernels/verify/step_check.h"
#include "tests/golden/golden_folder.h"

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

// A random walk with random features and weights: what a launch of any size can run on.
struct World {
  std::vector<float> features, targets;
  std::vector<uint8_t> last;
  CollectorOptions options;
  Parameters online, target, curiosity;

  World(uint32_t episodes, uint32_t steps, uint32_t bars = 20'000, Architecture architecture = {}) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    features.resize(size_t{bars} * architecture.features);
    for (float& value : features) value = normal(random);
    targets.resize(size_t{bars} * 4);
    last.resize(bars);
    double price = 100;
    for (uint32_t b = 0; b < bars; ++b) {
      const double next = price * std::exp(5e-4 * normal(random));
      float* row = &targets[size_t{b} * 4];
      row[0] = static_cast<float>(price);
      row[1] = static_cast<float>(next);
      row[2] = static_cast<float>(std::max(price, next) * 1.0002);
      row[3] = static_cast<float>(std::min(price, next) * 0.9998);
      price = static_cast<float>(next);
      last[b] = b % 3000 == 2999 || b + 1 == bars;
    }
    options.market = {.features = features.data(),
                      .targets = targets.data(),
                      .last = last.data(),
                      .bars = bars,
                      .feature_count = architecture.features,
                      .begin = 0,
                      .end = bars};
    options.architecture = architecture;
    options.episodes = episodes;
    options.steps = steps;
    online = RandomWeights(WeightsKind::kOnline, random);
    target = RandomWeights(WeightsKind::kTarget, random);
    curiosity = RandomWeights(WeightsKind::kCuriosity, random);
  }

  Parameters RandomWeights(WeightsKind kind, std::mt19937& random) const {
    Parameters parameters;
    parameters.architecture = options.architecture;
    parameters.kind = kind;
    parameters.values.resize(ParameterCount(options.architecture, kind));
    for (const LayerLayout& layer : LayersOf(options.architecture, kind)) {
      const float bound = 1.0f / std::sqrt(static_cast<float>(layer.inputs));
      std::uniform_real_distribution<float> uniform(-bound, bound);
      const size_t end = layer.bias_offset + layer.outputs;
      for (size_t i = layer.weight_offset; i < end; ++i) parameters.values[i] = uniform(random);
    }
    return parameters;
  }

  void Push(Collector& collector) const {
    for (const Parameters* parameters : {&online, &target, &curiosity}) {
      const auto probe = collector.StageWeights(*parameters);
      ASSERT_TRUE(probe.ok()) << probe.status();
      EXPECT_EQ(probe->sha256, ParametersSha256(*parameters));
      collector.CommitWeights(parameters->kind);
    }
  }
};

bool HasGpu() { return QueryCudaDevices().ok() && !QueryCudaDevices()->empty(); }
#define VIXEN_NEEDS_GPU() \
  if (!HasGpu()) GTEST_SKIP() << "no GPU here"

std::unique_ptr<Collector> Make(const CollectorOptions& options, CudaAlgorithm algorithm) {
  auto collector = MakeCudaCollector(options, 0, algorithm);
  EXPECT_TRUE(collector.ok()) << collector.status();
  return collector.ok() ? *std::move(collector) : nullptr;
}

bool SameBytes(const Batch& a, const Batch& b) {
  return a.payload().size() == b.payload().size() &&
         std::memcmp(a.payload().data(), b.payload().data(), a.payload().size()) == 0 &&
         std::memcmp(&a.statistics, &b.statistics, sizeof(a.statistics)) == 0;
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

TEST(CudaCollector, RefusesADeviceThatIsNotThere) {
  VIXEN_NEEDS_GPU();
  World world(4, 4);
  const auto collector = MakeCudaCollector(world.options, 93, CudaAlgorithm::kAuto);
  EXPECT_EQ(collector.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(collector.status().message().find("93"), std::string::npos);
}

TEST(CudaCollector, RefusesEpisodesBeyondMemoryWithTheNumbers) {
  VIXEN_NEEDS_GPU();
  World world(65'536, 65'536);
  const auto collector = MakeCudaCollector(world.options, 0, CudaAlgorithm::kAuto);
  EXPECT_EQ(collector.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(collector.status().message().find("would fit"), std::string::npos);
}

TEST(CudaCollector, RefusesAThirdLaunchInFlightAndALaunchWithoutWeights) {
  VIXEN_NEEDS_GPU();
  World world(16, 20);
  const auto collector = Make(world.options, CudaAlgorithm::kAuto);
  ASSERT_NE(collector, nullptr);
  Batch a(16, 20, false), b(16, 20, false), c(16, 20, false);
  const LaunchRequest request;
  EXPECT_EQ(collector->Launch(request, a).code(), absl::StatusCode::kFailedPrecondition);
  world.Push(*collector);
  ASSERT_TRUE(collector->Launch(request, a).ok());
  ASSERT_TRUE(collector->Launch(request, b).ok());
  EXPECT_EQ(collector->Launch(request, c).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(collector->Wait(a).ok());
  ASSERT_TRUE(collector->Wait(b).ok());
  EXPECT_EQ(std::memcmp(a.payload().data(), b.payload().data(), a.payload().size()), 0);
}

TEST(CudaCollector, LeavesLaunchesUnderWayTheWeightsThatTheyBeganWith) {
  VIXEN_NEEDS_GPU();
  World world(128, 500);
  const LaunchRequest request{
      .seed = 3, .launch = 0, .epsilon = 0.1f, .inputs = {}, .slot_states = {}};
  const auto alone = [&](const World& w) {
    auto batch = std::make_unique<Batch>(128, 500, true);
    const auto collector = Make(w.options, CudaAlgorithm::kAuto);
    w.Push(*collector);
    EXPECT_TRUE(collector->Launch(request, *batch).ok());
    EXPECT_TRUE(collector->Wait(*batch).ok());
    return batch;
  };
  World later = world;
  std::mt19937 random(99);
  later.online = world.RandomWeights(WeightsKind::kOnline, random);
  const auto expected_before = alone(world);
  const auto expected_after = alone(later);
  ASSERT_FALSE(SameBytes(*expected_before, *expected_after));

  const auto collector = Make(world.options, CudaAlgorithm::kAuto);
  ASSERT_NE(collector, nullptr);
  world.Push(*collector);
  Parameters broken = later.online;
  broken.values[7] = std::nanf("");
  for (int round = 0; round < 20; ++round) {
    Batch before(128, 500, true), after(128, 500, true);
    ASSERT_TRUE(collector->Launch(request, before).ok());
    // While it runs: a refusal changes nothing, a push waits for the next launch.
    EXPECT_EQ(collector->StageWeights(broken).status().code(), absl::StatusCode::kInvalidArgument);
    ASSERT_TRUE(collector->StageWeights(later.online).ok());
    collector->CommitWeights(WeightsKind::kOnline);
    ASSERT_TRUE(collector->Launch(request, after).ok());
    ASSERT_TRUE(collector->StageWeights(world.online).ok());
    collector->CommitWeights(WeightsKind::kOnline);
    ASSERT_TRUE(collector->Wait(before).ok());
    ASSERT_TRUE(collector->Wait(after).ok());
    EXPECT_TRUE(SameBytes(before, *expected_before)) << round;
    EXPECT_TRUE(SameBytes(after, *expected_after)) << round;
  }
}

TEST(CudaCollector, FallsBackToTf32WhenWeightsLeaveTheRangeOfFp16) {
  VIXEN_NEEDS_GPU();
  World world(40, 60);
  const auto collector = Make(world.options, CudaAlgorithm::kAuto);
  ASSERT_NE(collector, nullptr);
  EXPECT_EQ(collector->info().precision, Precision::kFp16);
  world.online.values[0] = 1e5f;
  world.Push(*collector);
  Batch batch(40, 60, false);
  ASSERT_TRUE(collector->Launch(LaunchRequest(), batch).ok());
  EXPECT_EQ(collector->info().precision, Precision::kTf32);
  ASSERT_TRUE(collector->Wait(batch).ok());
  CollectorOptions half = world.options;
  half.precision = Precision::kFp16;
  const auto strict = Make(half, CudaAlgorithm::kAuto);
  EXPECT_EQ(strict->StageWeights(world.online).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CudaCollector, CountsTheActivationsThatFp16Clamps) {
  VIXEN_NEEDS_GPU();
  World world(40, 60);
  world.options.precision = Precision::kFp16;
  const auto clamped = [&] {
    const auto collector = Make(world.options, CudaAlgorithm::kAuto);
    world.Push(*collector);
    Batch batch(40, 60, false);
    EXPECT_TRUE(collector->Launch(LaunchRequest(), batch).ok());
    EXPECT_TRUE(collector->Wait(batch).ok());
    return batch.statistics.clamped_activations;
  };
  EXPECT_EQ(clamped(), 0u);
  // One neuron of layer 1 sees a weight that is in range and an activation that is not.
  for (const LayerLayout& layer : LayersOf(world.options.architecture, WeightsKind::kOnline)) {
    if (layer.inputs != world.options.architecture.hidden1) continue;
    for (uint32_t j = 0; j < layer.inputs; ++j) {
      world.online.values[layer.weight_offset + j] = 60'000.0f;
    }
    break;
  }
  const uint64_t count = clamped();
  EXPECT_GT(count, 0u);
  EXPECT_EQ(clamped(), count);
}

}  // namespace
}  // namespace vixen::kernels
