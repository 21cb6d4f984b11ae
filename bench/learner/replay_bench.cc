// SPDX-License-Identifier: Apache-2.0
// The replay on the processor: what a batch of 128 × 500 rows costs from its columns into the ring,
// and what drawing and updating cost. `replay_bench --benchmark_filter=…`
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/batch/columns.h"
#include "learner/replay/n_step.h"
#include "learner/replay/replay.h"

namespace vixen::learner {
namespace {

constexpr uint32_t kEpisodes = 128;
constexpr uint32_t kSteps = 500;
constexpr uint64_t kBars = 1'000'000;
constexpr uint64_t kCapacity = 1'000'000;

// Columns as a launch leaves them: a tenth explored, an episode's end each 70 rows.
struct Columns {
  std::vector<uint32_t> bar;
  std::vector<uint8_t> action, flags;
  std::vector<float> portfolio, next_portfolio, reward, td;

  Columns() {
    const size_t rows = size_t{kEpisodes} * kSteps;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < rows; ++i) {
      bar.push_back(static_cast<uint32_t>(i % (kBars - 1)));
      action.push_back(static_cast<uint8_t>(random() % kernels::kActions));
      const bool ends = i % 70 == 69;
      flags.push_back(static_cast<uint8_t>(kernels::kFlagValid |
                                           (random() % 10 == 0 ? kernels::kFlagExplored : 0) |
                                           (ends ? kernels::kFlagTerminated : 0)));
      for (int k = 0; k < kernels::kPortfolioFeatures; ++k) {
        portfolio.push_back(normal(random));
        next_portfolio.push_back(normal(random));
      }
      reward.push_back(normal(random));
      td.push_back(std::fabs(normal(random)));
    }
  }
  LaunchRows rows() const {
    return {kEpisodes,
            kSteps,
            bar.data(),
            action.data(),
            flags.data(),
            portfolio.data(),
            next_portfolio.data(),
            reward.data(),
            td.data()};
  }
};

NStepOptions Options(uint32_t n) {
  NStepOptions options;
  options.n = n;
  options.bars = kBars;
  return options;
}

void BuildRows(benchmark::State& state) {
  const Columns columns;
  NStepBuilder builder(Options(static_cast<uint32_t>(state.range(0))));
  RowList rows;
  uint64_t launch = 0;
  for (auto _ : state) {
    rows.clear();
    builder.Add(launch++, columns.rows(), rows);
    benchmark::DoNotOptimize(rows.data());
  }
  state.SetItemsProcessed(state.iterations() * kEpisodes * kSteps);
}
BENCHMARK(BuildRows)->Arg(1)->Arg(3)->Arg(5);

void Insert(benchmark::State& state) {
  const Columns columns;
  RowList rows;
  NStepBuilder(Options(1)).Add(0, columns.rows(), rows);
  Replay replay({.capacity = kCapacity, .alpha = 0.1 * static_cast<double>(state.range(0))});
  for (auto _ : state) replay.Insert(rows);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(rows.size()));
}
BENCHMARK(Insert)->ArgName("alpha_tenths")->Arg(0)->Arg(6);

// One sampled batch: draws, importance weights and new priorities.
void DrawAndUpdate(benchmark::State& state) {
  const Columns columns;
  RowList rows;
  NStepBuilder(Options(1)).Add(0, columns.rows(), rows);
  Replay replay({.capacity = kCapacity});
  while (replay.size() < kCapacity) replay.Insert(rows);
  Sample sample;
  std::vector<float> td(static_cast<size_t>(state.range(0)), 0.5f);
  for (auto _ : state) {
    replay.Draw(td.size(), 0.5, sample);
    replay.Update(sample.slot, sample.generation, td);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(DrawAndUpdate)->Arg(128)->Arg(1024);

}  // namespace
}  // namespace vixen::learner

BENCHMARK_MAIN();
