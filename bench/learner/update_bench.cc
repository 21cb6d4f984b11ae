// SPDX-License-Identifier: Apache-2.0
// Updates a second of the learner on the GPU, and rows a second into its replay, as JSON lines:
//   update_bench [--batch 1024] [--precision tf32] [--algorithm best] [--rows 1000000] [--at_once
//   32] [--seconds 2]
// The peer is bench/peers/torch_update.py.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "learner/device/device_updater.h"
#include "learner/trainer/initial_weights.h"

namespace {

using namespace vixen::learner;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kBars = 1'000'000;
constexpr size_t kLaunchRows = 64'000;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<ReplayRow> LaunchOfRows(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<ReplayRow> rows(kLaunchRows);
  for (ReplayRow& row : rows) {
    row.bar = static_cast<uint32_t>(random() % (kBars - 2));
    row.bootstrap_bar = row.bar + 1;
    for (int k = 0; k < 3; ++k) row.portfolio[k] = row.bootstrap_portfolio[k] = normal(random);
    row.reward = 0.01f * normal(random);
    row.discount = random() % 100 == 0 ? 0.0f : 0.99f;
    row.td = std::abs(normal(random));
    row.action = static_cast<uint8_t>(random() % 45);
  }
  return rows;
}

// Multiply-adds of the matrix products of an update, times two: three forward passes, and the
// backward pass but for the gradient of the states.
double FlopsOf(const vixen::kernels::Architecture& a, double batch) {
  const double first = a.state() * a.hidden1;
  const double rest = a.hidden1 * a.hidden2 + a.hidden2 * (a.value_hidden + a.advantage_hidden) +
                      a.value_hidden + 45.0 * a.advantage_hidden;
  return 2.0 * batch * (3.0 * (first + rest) + first + 2.0 * rest);
}

bool Check(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t batch = 1024;
  uint64_t capacity = 1'000'000, at_once = 32;
  double seconds = 2;
  uint32_t curiosity_every = 10;
  std::string precision = "tf32", algorithm = "best";
  CLI::App app("Updates a second of the learner on the GPU", "update_bench");
  app.add_option("--batch", batch);
  app.add_option("--rows", capacity);
  app.add_option("--at_once", at_once);
  app.add_option("--seconds", seconds);
  app.add_option("--precision", precision)->check(CLI::IsMember({"fp32", "tf32", "bf16"}));
  app.add_option("--curiosity_every", curiosity_every, "0: no model");
  app.add_option("--algorithm", algorithm)->check(CLI::IsMember({"best", "mma", "wgmma"}));
  CLI11_PARSE(app, argc, argv);

  TrainerOptions trainer;
  trainer.batch_size = batch;
  trainer.learning_rate = 1e-4;
  for (uint8_t a = 0; a < 45; ++a) trainer.actions.push_back(a);
  DeviceUpdaterOptions device;
  device.updates_a_graph = at_once;
  device.precision = precision == "fp32"   ? DevicePrecision::kFp32
                     : precision == "bf16" ? DevicePrecision::kBf16
                                           : DevicePrecision::kTf32;
  device.algorithm = algorithm == "mma"     ? PassAlgorithm::kMma
                     : algorithm == "wgmma" ? PassAlgorithm::kWgmma
                                            : PassAlgorithm::kBest;
  if (curiosity_every > 0) {
    device.curiosity = {.period = curiosity_every,
                        .learning_rate = 1e-3,
                        .weights = InitialWeights(trainer.architecture,
                                                  vixen::kernels::WeightsKind::kCuriosity, 1)};
  }
  std::vector<float> features(kBars * trainer.architecture.features);
  std::mt19937_64 random(1);
  // Uniform with unit variance: a normal distribution takes ten times as long to make.
  for (float& x : features) x = static_cast<float>(random() >> 40) * 2.07e-7f - 1.73f;
  auto made = MakeDeviceUpdater(
      device, {.capacity = capacity}, trainer, features,
      InitialWeights(trainer.architecture, vixen::kernels::WeightsKind::kOnline, 1),
      InitialWeights(trainer.architecture, vixen::kernels::WeightsKind::kTarget, 1));
  if (!Check(made.status())) return 1;
  Updater& updater = **made;

  const std::vector<ReplayRow> formed = LaunchOfRows(2);
  const RowList rows(formed.begin(), formed.end(), updater.row_memory());
  std::vector<double> insert_ms, insert_host_ms;
  for (uint64_t filled = 0; filled < capacity + 10 * kLaunchRows; filled += rows.size()) {
    const Clock::time_point start = Clock::now();
    if (!Check(updater.Insert(rows))) return 1;
    insert_host_ms.push_back(1e3 * Since(start));
    if (!updater.LeastShare().ok()) return 1;  // waits
    insert_ms.push_back(1e3 * Since(start));
  }
  std::sort(insert_ms.begin(), insert_ms.end());
  std::sort(insert_host_ms.begin(), insert_host_ms.end());
  std::printf(R"({"insert_rows": %zu, "capacity": %llu, "ms": %.4f, "host_ms": %.4f})"
              "\n",
              rows.size(), static_cast<unsigned long long>(capacity),
              insert_ms[insert_ms.size() / 2], insert_host_ms[insert_host_ms.size() / 2]);

  // Warm: every graph is made.
  for (int i = 0; i < 4; ++i) {
    if (!Check(updater.Update(at_once, 0).status())) return 1;
  }
  uint64_t updates = 0;
  double loss = 0;
  const Clock::time_point start = Clock::now();
  while (Since(start) < seconds) {
    const auto done = updater.Update(at_once, 0);
    if (!Check(done.status())) return 1;
    updates += done->statistics.size();
    loss = done->statistics.back().loss;
  }
  const double rate = static_cast<double>(updates) / Since(start);
  std::printf(
      R"({"batch": %u, "precision": "%s", "algorithm": "%s", "rows": %llu, "at_once": %llu, "curiosity_every": %u, "updates_s": %.0f, )"
      R"("us": %.2f, "tflops": %.2f, "loss": %.6g})"
      "\n",
      batch, precision.c_str(), algorithm.c_str(), static_cast<unsigned long long>(capacity),
      static_cast<unsigned long long>(at_once), curiosity_every, rate, 1e6 / rate,
      rate * FlopsOf(trainer.architecture, batch) * 1e-12, loss);
  return 0;
}
