// SPDX-License-Identifier: Apache-2.0
// Golden cases: launches with given market, weights, starts and random states, and what they must
// yield (computed in float64). File layout: docs/formats.md ("Golden cases").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/tensor_file.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

// One case; owns the mapped file that the spans point into.
struct GoldenCase {
  base::TensorFile file;
  std::string name;
  double margin = 0;  // least distance of best and second Q in the case; 0: not given
  CollectorOptions options;
  float epsilon = 0;
  uint32_t launches = 1;          // one after the other; more than one needs carry_over
  std::vector<uint32_t> starts;   // [N]
  std::span<const uint32_t> rng;  // [N]
  Parameters online;
  Parameters target;
  Parameters curiosity;  // without values when curiosity_max is 0

  // Expected rows, [N, launches · L, width]; q and terms empty when the file has none.
  std::span<const int32_t> bar;
  std::span<const int32_t> action;
  std::span<const uint8_t> flags;
  std::span<const float> reward;
  std::span<const float> td;
  std::span<const float> portfolio;
  std::span<const float> next_portfolio;
  std::span<const float> q;
  std::span<const float> terms;
};

// True for a file that holds such a case: `case` in the metadata, and not the features' case, which
// is the importer's.
bool IsGoldenCase(const base::TensorFile& file);

// INVALID_ARGUMENT naming file, setting or tensor.
absl::StatusOr<GoldenCase> ReadGoldenCase(base::TensorFile file);

// The largest error of one float column.
struct ColumnError {
  double largest = 0;     // |value − expected|
  double of_allowed = 0;  // the largest error relative to its tolerance; above 1 fails
  uint64_t slot = 0;      // where of_allowed is
  uint64_t step = 0;
};

// Tolerances of precision fp32: 1e-5 + 1e-4·|x| for reward, portfolio and terms, 1e-3 for td and q.
struct GoldenResult {
  uint64_t rows = 0;
  uint64_t valid_rows = 0;
  uint64_t wrong_actions = 0;
  uint64_t wrong_flags = 0;
  uint64_t wrong_bars = 0;
  uint64_t wrong_idle_rows = 0;  // invalid rows that are not all 0
  // Rows where a barrier line and a price are one float32 number (barrier_tie.h): either result is
  // right. Until the episode's end only what does not depend on the barrier is compared; when the
  // result ends the episode, nothing more of the slot.
  uint64_t barrier_ties = 0;
  uint64_t rows_not_compared = 0;
  ColumnError reward;
  ColumnError portfolio;  // of s and s'
  ColumnError td;
  ColumnError q;
  ColumnError terms;

  bool passed() const;
  // "reward 1.2e-07, …" on one line.
  std::string Describe() const;
};

// Runs the case's launches on a collector of `factory` and compares every row.
absl::StatusOr<GoldenResult> RunGoldenCase(const GoldenCase& golden,
                                           const CollectorFactory& factory);

}  // namespace vixen::kernels
