// SPDX-License-Identifier: Apache-2.0
#include "bench/learner/update_rate.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "bench/learner/matrix_limit.h"
#include "bench/median.h"
#include "learner/device/device_updater.h"
#include "learner/trainer/host_updater.h"
#include "learner/trainer/initial_weights.h"

namespace vixen::bench {
namespace {

using learner::ReplayRow;
using learner::Updater;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kBars = 1'000'000;
constexpr uint32_t kFeatures = 51;
constexpr size_t kLaunchRows = 64'000;  // 128 × 500
constexpr float kDiscount = 0.99f;
constexpr double kWarmUpSeconds = 0.3;  // graphs are made, caches filled

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

learner::TrainerOptions TrainerOf(const LearnerBenchFlags& flags, uint32_t batch_size,
                                  const std::string& device) {
  learner::TrainerOptions options;
  options.batch_size = batch_size;
  options.device = device;
  options.learning_rate = 1e-4;
  options.architecture = {.features = kFeatures};
  if (flags.net == "testbed") {
    options.architecture = {.features = kFeatures,
                            .hidden1 = 64,
                            .hidden2 = 64,
                            .value_hidden = 16,
                            .advantage_hidden = 16,
                            .curiosity_hidden = 16};
    options.actions = {1, 19, 37};
  } else {
    options.actions.resize(kernels::kActions);
    std::iota(options.actions.begin(), options.actions.end(), uint8_t{0});
  }
  return options;
}

// Uniform with unit variance: a normal distribution takes ten times as long to make.
std::vector<float> MakeFeatures() {
  std::vector<float> features(size_t{kBars} * kFeatures);
  std::mt19937_64 random(2);
  for (float& x : features) x = static_cast<float>(random() >> 40) * 2.07e-7f - 1.73f;
  return features;
}

// One row in a hundred is terminal. Where the rows are in the dataset, FillReplay says.
void MakeLaunch(const std::vector<uint8_t>& actions, learner::RowList& rows) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  rows.resize(kLaunchRows);
  for (ReplayRow& row : rows) {
    row.action = actions[random() % actions.size()];
    row.reward = 0.01f * normal(random);
    row.discount = random() % 100 == 0 ? 0.0f : kDiscount;
    row.td = std::fabs(normal(random));
    for (int k = 0; k < kernels::kPortfolioFeatures; ++k) {
      row.portfolio[k] = normal(random);
      row.bootstrap_portfolio[k] = normal(random);
    }
  }
}

// Milliseconds that a launch of rows takes to be in the replay, in the median; it is full then.
absl::StatusOr<double> FillReplay(const std::vector<uint8_t>& actions, Updater& updater) {
  learner::RowList rows(updater.row_memory());
  MakeLaunch(actions, rows);
  std::mt19937_64 random(3);
  std::vector<double> milliseconds;
  while (updater.inserted() < updater.capacity() + 2 * kLaunchRows) {
    for (ReplayRow& row : rows) {
      row.bar = static_cast<uint32_t>(random() % (kBars - 1));
      row.bootstrap_bar = row.bar + 1;
    }
    const Clock::time_point start = Clock::now();
    VIXEN_RETURN_IF_ERROR(updater.Insert(rows));
    VIXEN_RETURN_IF_ERROR(updater.LeastShare().status());  // waits for the device
    milliseconds.push_back(1e3 * Since(start));
  }
  return MedianOf(milliseconds);
}

absl::StatusOr<std::unique_ptr<Updater>> MakeUpdater(const LearnerBenchFlags& flags,
                                                     const LearnerBenchMachine& machine,
                                                     const learner::TrainerOptions& options,
                                                     const std::vector<float>& features) {
  using kernels::WeightsKind;
  const learner::ReplayOptions replay{.capacity = flags.rows};
  const auto online = learner::InitialWeights(options.architecture, WeightsKind::kOnline, 1);
  const auto target = learner::InitialWeights(options.architecture, WeightsKind::kTarget, 1);
  if (!machine.devices.gpu.has_value()) {
    return learner::MakeHostUpdater(replay, options, features, online, target);
  }
  learner::DeviceUpdaterOptions device{.gpu = *machine.devices.gpu,
                                       .precision = machine.precision,
                                       .updates_a_graph = std::bit_floor(flags.updates_a_graph)};
  if (flags.algorithm == "mma") device.algorithm = learner::PassAlgorithm::kMma;
  if (flags.algorithm == "wgmma") device.algorithm = learner::PassAlgorithm::kWgmma;
  if (flags.curiosity_every > 0) {
    device.curiosity = {
        .period = flags.curiosity_every,
        .weights = learner::InitialWeights(options.architecture, WeightsKind::kCuriosity, 1)};
  }
  return learner::MakeDeviceUpdater(device, replay, options, features, online, target);
}

struct Round {
  double updates_per_second = 0, cpu_ms_per_update = 0, loss = 0;
};

absl::StatusOr<Round> UpdateFor(double seconds, Updater& updater) {
  Round round;
  uint64_t updates = 0;
  double taken = 0;
  const Clock::time_point start = Clock::now();
  const std::clock_t cpu = std::clock();
  do {
    VIXEN_ASSIGN_OR_RETURN(const learner::UpdatesMade made,
                           updater.Update(updater.updates_at_once(), 0));
    updates += made.statistics.size();
    round.loss = made.statistics.back().loss;
    taken = Since(start);
  } while (taken < seconds);
  const auto made = static_cast<double>(updates);
  round.updates_per_second = made / taken;
  round.cpu_ms_per_update = 1e3 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC / made;
  return round;
}

absl::StatusOr<UpdateRate> MeasureBatchSize(const LearnerBenchFlags& flags,
                                            const LearnerBenchMachine& machine, uint32_t batch_size,
                                            const std::vector<float>& features) {
  const auto options = TrainerOf(flags, batch_size, machine.devices.torch);
  VIXEN_ASSIGN_OR_RETURN(const auto updater, MakeUpdater(flags, machine, options, features));
  UpdateRate rate{.batch_size = batch_size, .updates_at_once = updater->updates_at_once()};
  VIXEN_ASSIGN_OR_RETURN(rate.insert_ms, FillReplay(options.actions, *updater));
  VIXEN_RETURN_IF_ERROR(UpdateFor(kWarmUpSeconds, *updater).status());
  std::vector<double> rates, cpu, limits;
  for (int i = 0; i < flags.rounds; ++i) {
    VIXEN_ASSIGN_OR_RETURN(const double limit,
                           LargeProductGflops(machine.devices, machine.threads, machine.precision));
    VIXEN_ASSIGN_OR_RETURN(const Round round, UpdateFor(flags.seconds, *updater));
    limits.push_back(limit);
    rates.push_back(round.updates_per_second);
    cpu.push_back(round.cpu_ms_per_update);
    rate.loss = round.loss;
  }
  rate.updates_per_second = MedianOf(rates);
  rate.slowest = *std::ranges::min_element(rates);
  rate.fastest = *std::ranges::max_element(rates);
  rate.cpu_ms_per_update = MedianOf(cpu);
  rate.gigaflop = GigaflopOfUpdate(options.architecture, batch_size);
  rate.limit_gflops = MedianOf(limits);
  return rate;
}

}  // namespace

std::string PrecisionName(learner::DevicePrecision precision) {
  switch (precision) {
    case learner::DevicePrecision::kFp32:
      return "fp32";
    case learner::DevicePrecision::kTf32:
      return "tf32";
    case learner::DevicePrecision::kBf16:
      return "bf16";
  }
  return "";
}

absl::StatusOr<LearnerBenchMachine> SetUpLearnerBench(const LearnerBenchFlags& flags) {
  LearnerBenchMachine machine;
  machine.threads = flags.threads > 0 ? flags.threads : base::AvailableCpus();
  // OpenMP reads it once, before the first tensor.
  setenv("OMP_NUM_THREADS", std::to_string(machine.threads).c_str(), /*overwrite=*/1);
  VIXEN_ASSIGN_OR_RETURN(machine.devices, learner::SetUpDevices(flags.device, 0, machine.threads));
  if (machine.devices.gpu.has_value()) {
    machine.precision = flags.precision == "fp32"   ? learner::DevicePrecision::kFp32
                        : flags.precision == "tf32" ? learner::DevicePrecision::kTf32
                        : flags.precision == "bf16"
                            ? learner::DevicePrecision::kBf16
                            : learner::BestDevicePrecision(*machine.devices.gpu);
    return machine;
  }
  const char* gpu_only = flags.precision != "auto" && flags.precision != "fp32" ? "--precision"
                         : flags.algorithm != "best"                            ? "--algorithm"
                         : flags.curiosity_every > 0 ? "--curiosity_every"
                                                     : nullptr;
  if (gpu_only == nullptr) return machine;
  return base::UsageError(std::string(gpu_only) +
                          " needs a GPU and a build with CUDA; the processor computes fp32 and "
                          "leaves the curiosity model to LibTorch");
}

absl::Status MeasureUpdates(const LearnerBenchFlags& flags, const LearnerBenchMachine& machine,
                            const std::function<void(const UpdateRate&)>& sink) {
  const std::vector<float> features = MakeFeatures();
  for (const uint32_t batch_size : flags.batch_sizes) {
    VIXEN_ASSIGN_OR_RETURN(const UpdateRate rate,
                           MeasureBatchSize(flags, machine, batch_size, features));
    sink(rate);
  }
  return absl::OkStatus();
}

}  // namespace vixen::bench
