// SPDX-License-Identifier: Apache-2.0
// Rows a second of the replay as its peers are measured (bench/peers/replay_peers.py): inserted in
// pieces of 64,000, then batches drawn by priority, their rows copied out, and new priorities.
//   replay_rate [rows] [batch] [seconds], one thread, a JSON line each
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include "learner/replay/replay.h"

namespace vixen::learner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kPiece = 64'000;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void Print(const char* name, uint64_t rows, size_t batch, double rate) {
  std::printf(
      "{\"program\": \"vixen\", \"case\": \"%s\", \"rows\": %llu, \"batch_size\": %zu, "
      "\"rows_per_second\": %.0f}\n",
      name, static_cast<unsigned long long>(rows), batch, rate);
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
  Clock::time_point begin = Clock::now();
  for (size_t first = 0; first < rows.size(); first += kPiece) {
    replay.Insert(std::span(rows).subspan(first, std::min(kPiece, rows.size() - first)));
  }
  Print("insert", count, batch, static_cast<double>(count) / SecondsSince(begin));

  Sample sample;
  std::vector<ReplayRow> drawn(batch);
  std::vector<float> td(batch);
  uint64_t made = 0;
  begin = Clock::now();
  while (SecondsSince(begin) < seconds) {
    replay.Draw(batch, 0.4, sample);
    for (size_t i = 0; i < batch; ++i) drawn[i] = replay.row(sample.slot[i]);
    for (float& value : td) value = std::fabs(normal(random));
    replay.Update(sample.slot, sample.generation, td);
    made += batch;
  }
  Print("draw + update", count, batch, static_cast<double>(made) / SecondsSince(begin));
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  const uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  const size_t batch = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024;
  const double seconds = argc > 3 ? std::strtod(argv[3], nullptr) : 4;
  vixen::learner::Measure(rows, batch, seconds);
}
