// SPDX-License-Identifier: Apache-2.0
// Two bars of the replay that take too long for a test: sampled against exact probabilities over
// many draws, and the sum tree after many updates. `per_bars [draws] [updates]`, a JSON line each;
// exit 1 when a bar is missed.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "learner/replay/replay.h"

namespace vixen::learner {
namespace {

constexpr uint64_t kCapacity = 1'000'000;
constexpr size_t kBatch = 1000;

// A million rows whose |td| spreads over five orders of magnitude.
Replay Filled() {
  std::mt19937_64 random(1);
  std::lognormal_distribution<float> td(0, 2);
  std::vector<ReplayRow> rows(kCapacity);
  for (ReplayRow& row : rows) row.td = td(random);
  Replay replay({.capacity = kCapacity, .alpha = 0.6, .seed = 7});
  replay.Insert(rows);
  return replay;
}

// Upper tail of chi-square with many degrees of freedom (Wilson and Hilferty, 1931).
double TailOf(double chi_square, double degrees) {
  const double part = 2.0 / (9.0 * degrees);
  const double z = (std::cbrt(chi_square / degrees) - (1.0 - part)) / std::sqrt(part);
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

// Rows are put into groups of neighbours with at least 50 expected draws.
bool ChiSquare(uint64_t draws) {
  Replay replay = Filled();
  std::vector<uint32_t> count(kCapacity, 0);
  Sample sample;
  for (uint64_t i = 0; i < draws / kBatch; ++i) {
    replay.Draw(kBatch, 0.4, sample);
    for (const uint32_t slot : sample.slot) ++count[slot];
  }
  const double made = static_cast<double>(draws / kBatch * kBatch);
  double sum = 0;
  for (uint32_t slot = 0; slot < kCapacity; ++slot) sum += replay.leaf(slot);
  double chi_square = 0, groups = 0, expected = 0, seen = 0;
  for (uint32_t slot = 0; slot < kCapacity; ++slot) {
    expected += made * replay.leaf(slot) / sum;
    seen += count[slot];
    if (expected < 50 && slot + 1 < kCapacity) continue;
    chi_square += (seen - expected) * (seen - expected) / expected;
    ++groups;
    expected = seen = 0;
  }
  // Strata of neighbours make the counts more even than independent draws: a p near 1 is right, a
  // wrong law makes it vanish.
  const double p = TailOf(chi_square, groups - 1);
  std::printf("{\"draws\": %.0f, \"groups\": %.0f, \"chi_square\": %.1f, \"p\": %.6g}\n", made,
              groups, chi_square, p);
  return p > 0.001;
}

bool SumError(uint64_t updates) {
  Replay replay = Filled();
  std::mt19937_64 random(2);
  std::lognormal_distribution<float> value(0, 2);
  std::vector<float> values(1 << 16);
  for (float& td : values) td = value(random);
  std::vector<uint32_t> slot(kBatch);
  std::vector<uint64_t> generation(kBatch);
  std::vector<float> td(kBatch);
  uint64_t done = 0;
  for (; done < updates; done += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) {
      const uint64_t bits = random();
      generation[i] = slot[i] = static_cast<uint32_t>(bits % kCapacity);
      td[i] = values[bits >> 48];
    }
    replay.Update(slot, generation, td);
  }
  long double sum = 0;
  for (uint32_t i = 0; i < kCapacity; ++i) sum += replay.leaf(i);
  const double error = std::abs(static_cast<double>((replay.total() - sum) / sum));
  std::printf("{\"updates\": %llu, \"relative_sum_error\": %.3g}\n",
              static_cast<unsigned long long>(done), error);
  return error <= 1e-5;
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  const uint64_t draws = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const uint64_t updates = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000'000;
  const bool even = vixen::learner::ChiSquare(draws);
  const bool exact = vixen::learner::SumError(updates);
  return even && exact ? 0 : 1;
}
