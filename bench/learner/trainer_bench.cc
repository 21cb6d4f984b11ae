// SPDX-License-Identifier: Apache-2.0
// Updates a second of the trainer on the processor, as the learner makes them: draw from a
// prioritised replay of 10⁶ rows, gather, update, new priorities. A JSON line; its peer is
// bench/peers/learner_peer.py.
//   trainer_bench [--net default|testbed] [--batch_size 1024] [--threads 1] [--seconds 5]
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "learner/replay/replay.h"
#include "learner/trainer/device.h"
#include "learner/trainer/initial_weights.h"
#include "learner/trainer/minibatch.h"
#include "learner/trainer/trainer.h"

namespace vixen::learner {
namespace {

constexpr uint64_t kRows = 1'000'000;
constexpr uint32_t kBars = 1'000'000;
constexpr uint32_t kFeatures = 51;
constexpr double kDiscount = 0.99;

struct Flags {
  std::string net = "default";
  uint32_t batch_size = 1024;
  int threads = 1;
  double seconds = 5;
};

TrainerOptions OptionsOf(const Flags& flags) {
  TrainerOptions options;
  options.batch_size = flags.batch_size;
  if (flags.net == "testbed") {
    options.architecture = {.features = kFeatures,
                            .hidden1 = 64,
                            .hidden2 = 64,
                            .value_hidden = 16,
                            .advantage_hidden = 16,
                            .curiosity_hidden = 16};
    options.actions = {1, 19, 37};
  } else {
    options.architecture = {.features = kFeatures};
    options.actions.resize(kernels::kActions);
    std::iota(options.actions.begin(), options.actions.end(), uint8_t{0});
  }
  return options;
}

// One row in a hundred is terminal.
std::vector<ReplayRow> MakeRows(const std::vector<uint8_t>& actions) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<ReplayRow> rows(kRows);
  for (ReplayRow& row : rows) {
    row.bar = static_cast<uint32_t>(random() % (kBars - 1));
    row.bootstrap_bar = row.bar + 1;
    row.action = actions[random() % actions.size()];
    row.reward = 0.01f * normal(random);
    row.discount = random() % 100 == 0 ? 0.0f : static_cast<float>(kDiscount);
    row.td = std::fabs(normal(random));
    for (int k = 0; k < kernels::kPortfolioFeatures; ++k) {
      row.portfolio[k] = normal(random);
      row.bootstrap_portfolio[k] = normal(random);
    }
  }
  return rows;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

absl::Status Run(const Flags& flags) {
  absl::StatusOr<Devices> device = SetUpDevices("cpu", 0, flags.threads);
  if (!device.ok()) return device.status();
  const TrainerOptions options = OptionsOf(flags);
  std::vector<float> features(size_t{kBars} * kFeatures);
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  for (float& x : features) x = normal(random);
  Replay replay({.capacity = kRows});
  replay.Insert(MakeRows(options.actions));
  const kernels::Parameters online =
      InitialWeights(options.architecture, kernels::WeightsKind::kOnline, 1);
  kernels::Parameters target = online;
  target.kind = kernels::WeightsKind::kTarget;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(options, online, target);
  if (!trainer.ok()) return trainer.status();

  Sample sample;
  using Clock = std::chrono::steady_clock;
  double loss = 0;
  const auto update_for = [&](double seconds, uint64_t& updates) -> absl::Status {
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
    while (Clock::now() < end) {
      replay.Draw(flags.batch_size, 0.4, sample);
      Gather(features, replay, sample, (*trainer)->minibatch());
      const absl::StatusOr<UpdateStatistics> updated = (*trainer)->Update();
      if (!updated.ok()) return updated.status();
      replay.Update(sample.slot, sample.generation, (*trainer)->abs_td());
      loss = updated->loss;
      ++updates;
    }
    return absl::OkStatus();
  };
  uint64_t warm = 0, updates = 0;
  absl::Status status = update_for(0.5, warm);
  if (!status.ok()) return status;
  const double cpu = CpuSeconds();
  const Clock::time_point begin = Clock::now();
  status = update_for(flags.seconds, updates);
  if (!status.ok()) return status;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto made = static_cast<double>(updates);
  std::printf(
      "{\"program\": \"vixen\", \"net\": \"%s\", \"batch_size\": %u, \"threads\": %d, "
      "\"updates_per_second\": %.1f, \"cpu_ms_per_update\": %.3f, \"loss\": %.3g}\n",
      flags.net.c_str(), flags.batch_size, flags.threads, made / seconds,
      1e3 * (CpuSeconds() - cpu) / made, loss);
  return absl::OkStatus();
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  vixen::learner::Flags flags;
  CLI::App app("Updates a second of the trainer");
  app.add_option("--net", flags.net)->check(CLI::IsMember({"default", "testbed"}));
  app.add_option("--batch_size", flags.batch_size)->check(CLI::PositiveNumber);
  app.add_option("--threads", flags.threads)->check(CLI::PositiveNumber);
  app.add_option("--seconds", flags.seconds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  // OpenMP reads it once, before the first tensor.
  setenv("OMP_NUM_THREADS", std::to_string(flags.threads).c_str(), /*overwrite=*/1);
  const absl::Status status = vixen::learner::Run(flags);
  if (status.ok()) return 0;
  std::cerr << "trainer_bench: " << status.ToString() << "\n";
  return 1;
}
