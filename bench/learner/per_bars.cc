// SPDX-License-Identifier: Apache-2.0
// Two bars of the replay that take too long for a test: sampled against exact probabilities over
// many draws, and the sum tree after many updates. A JSON line each; exit 1 when a bar is missed.
//   per_bars [--draws 10000000] [--updates 100000000] [--device cpu|cuda]
#include "bench/learner/per_bars.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace vixen::learner {
namespace {

constexpr uint64_t kCapacity = 1'000'000;
const ReplayOptions kOptions = {.capacity = kCapacity, .alpha = 0.6, .seed = 7};

// A million rows whose |td| spreads over five orders of magnitude.
std::vector<ReplayRow> BarsRows() {
  std::mt19937_64 random(1);
  std::lognormal_distribution<float> td(0, 2);
  std::vector<ReplayRow> rows(kCapacity);
  for (ReplayRow& row : rows) row.td = td(random);
  return rows;
}

class HostBars : public PerBars {
 public:
  HostBars(const ReplayOptions& options, std::span<const ReplayRow> rows) : replay_(options) {
    replay_.Insert(rows);
  }
  absl::Status Draw(uint64_t batches, std::vector<uint32_t>& slots) override {
    slots.clear();
    Sample sample;
    for (uint64_t i = 0; i < batches; ++i) {
      replay_.Draw(kBarsBatch, 0.4, sample);
      slots.insert(slots.end(), sample.slot.begin(), sample.slot.end());
    }
    return absl::OkStatus();
  }
  absl::Status Update(std::span<const uint32_t> slot, std::span<const float> td) override {
    generation_.assign(slot.begin(), slot.end());
    replay_.Update(slot, generation_, td);
    return absl::OkStatus();
  }
  absl::StatusOr<double> Total() override { return replay_.total(); }
  absl::StatusOr<std::vector<double>> Leaves() override {
    std::vector<double> leaves(kCapacity);
    for (uint32_t i = 0; i < kCapacity; ++i) leaves[i] = replay_.leaf(i);
    return leaves;
  }

 private:
  Replay replay_;
  std::vector<uint64_t> generation_;
};

// Upper tail of chi-square with many degrees of freedom (Wilson and Hilferty, 1931).
double TailOf(double chi_square, double degrees) {
  const double part = 2.0 / (9.0 * degrees);
  const double z = (std::cbrt(chi_square / degrees) - (1.0 - part)) / std::sqrt(part);
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

// Rows are put into groups of neighbours with at least 50 expected draws.
absl::StatusOr<bool> ChiSquare(PerBars& bars, uint64_t draws) {
  std::vector<uint32_t> count(kCapacity, 0), slots;
  VIXEN_RETURN_IF_ERROR(bars.Draw(draws / kBarsBatch, slots));
  for (const uint32_t slot : slots) ++count[slot];
  VIXEN_ASSIGN_OR_RETURN(const std::vector<double> leaves, bars.Leaves());
  const auto made = static_cast<double>(slots.size());
  double sum = 0;
  for (const double leaf : leaves) sum += leaf;
  double chi_square = 0, groups = 0, expected = 0, seen = 0;
  for (uint32_t slot = 0; slot < kCapacity; ++slot) {
    expected += made * leaves[slot] / sum;
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

// `ascending`: one slot from each part of the ring, in order, as the GPU's kernels take them; else
// anywhere, in no order, at times one twice.
absl::StatusOr<bool> SumError(PerBars& bars, uint64_t updates, bool ascending) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<float> value(0, 2);
  std::vector<float> values(1 << 16), td(kBarsBatch);
  for (float& x : values) x = value(random);
  std::vector<uint32_t> slot(kBarsBatch);
  constexpr uint64_t kPart = kCapacity / kBarsBatch;
  uint64_t done = 0;
  for (; done < updates; done += kBarsBatch) {
    for (size_t i = 0; i < kBarsBatch; ++i) {
      const uint64_t bits = random();
      slot[i] = static_cast<uint32_t>(ascending ? i * kPart + bits % kPart : bits % kCapacity);
      td[i] = values[bits >> 48];
    }
    VIXEN_RETURN_IF_ERROR(bars.Update(slot, td));
  }
  VIXEN_ASSIGN_OR_RETURN(const double total, bars.Total());
  VIXEN_ASSIGN_OR_RETURN(const std::vector<double> leaves, bars.Leaves());
  long double sum = 0;
  for (const double leaf : leaves) sum += leaf;
  const double error = std::abs(static_cast<double>((total - sum) / sum));
  std::printf("{\"updates\": %llu, \"relative_sum_error\": %.3g}\n",
              static_cast<unsigned long long>(done), error);
  return error <= 1e-5;
}

absl::StatusOr<bool> Run(const std::string& device, uint64_t draws, uint64_t updates) {
  const std::vector<ReplayRow> rows = BarsRows();
  std::unique_ptr<PerBars> bars;
  if (device == "cuda") {
#if defined(VIXEN_PER_BARS_CUDA)
    VIXEN_ASSIGN_OR_RETURN(bars, MakeCudaBars(kOptions, rows));
#else
    return absl::UnavailableError("--device cuda: this build has no CUDA");
#endif
  } else {
    bars = std::make_unique<HostBars>(kOptions, rows);
  }
  VIXEN_ASSIGN_OR_RETURN(const bool even, ChiSquare(*bars, draws));
  VIXEN_ASSIGN_OR_RETURN(const bool exact, SumError(*bars, updates, device == "cuda"));
  return even && exact;
}

}  // namespace
}  // namespace vixen::learner

int main(int argc, char** argv) {
  uint64_t draws = 10'000'000, updates = 100'000'000;
  std::string device = "cpu";
  CLI::App app("Two bars of the prioritised replay", "per_bars");
  app.add_option("--draws", draws);
  app.add_option("--updates", updates);
  app.add_option("--device", device)->check(CLI::IsMember({"cpu", "cuda"}));
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<bool> met = vixen::learner::Run(device, draws, updates);
  if (!met.ok()) std::fprintf(stderr, "per_bars: %s\n", met.status().ToString().c_str());
  return met.ok() && *met ? 0 : 1;
}
