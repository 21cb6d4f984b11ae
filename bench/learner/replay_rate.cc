// SPDX-License-Identifier: Apache-2.0
// Rows a second of the replay as its peers are measured (bench/peers/replay_peers.py): inserted in
// pieces of 64,000, then batches drawn by priority, their rows copied out, and new priorities.
//   replay_rate [rows] [batch] [seconds], one thread, a JSON line each
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <span>
#include <vector>

#include "learner/replay/replay.h"

namespace vixen::learner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kPiece = 64'000;
constexpr size_t kBatchesOfTd = 64;  // priorities made ahead, as the peers'

// By the clock and by this process's CPU time, which says more where others are at work.
struct Watch {
  Clock::time_point begin = Clock::now();
  std::clock_t cpu = std::clock();

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  double cpu_seconds() const { return static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC; }
};

void Print(const char* name, uint64_t rows, size_t batch, uint64_t made, const Watch& watch) {
  std::printf(
      "{\"program\": \"vixen\", \"case\": \"%s\", \"rows\": %llu, \"batch_size\": %zu, "
      "\"rows_per_second\": %.0f, \"rows_per_cpu_second\": %.0f}\n",
      name, static_cast<unsigned long long>(rows), batch,
      static_cast<double>(made) / watch.seconds(), static_cast<double>(made) / watch.cpu_seconds());
}

void Measure(uint64_t count, size_t batch, double seconds) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<ReplayRow> rows(count);
  for (ReplayRow& row : rows) {
    row.bar = static_cast<uint32_t>(random() % count);
    row.td = std::fabs(normal(random));
  }
  Replay replay({.capacity = count});
  Watch watch;
  for (size_t first = 0; first < rows.size(); first += kPiece) {
    replay.Insert(std::span(rows).subspan(first, std::min(kPiece, rows.size() - first)));
  }
  Print("insert", count, batch, count, watch);

  Sample sample;
  std::vector<ReplayRow> drawn(batch);
  std::vector<float> td(kBatchesOfTd * batch);
  for (float& value : td) value = std::fabs(normal(random));
  uint64_t made = 0;
  watch = {};
  while (watch.seconds() < seconds) {
    replay.Draw(batch, 0.4, sample);
    for (size_t i = 0; i < batch; ++i) drawn[i] = replay.row(sample.slot[i]);
    const std::span<const float> next = std::span(td).subspan(made / batch % kBatchesOfTd * batch);
    replay.Update(sample.slot, sample.generation, next.first(batch));
    made += batch;
  }
  Print("draw + update", count, batch, made, watch);
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  const uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  const size_t batch = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024;
  const double seconds = argc > 3 ? std::strtod(argv[3], nullptr) : 4;
  vixen::learner::Measure(rows, batch, seconds);
}
