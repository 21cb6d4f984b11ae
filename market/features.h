// SPDX-License-Identifier: Apache-2.0
// The 51 causal bar features. Every formula, window and neutral value: docs/features.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "market/bar.h"

namespace vixen::market {

inline constexpr int kFeatureCount = 51;
inline constexpr int kDefaultWarmUp = 250;
inline constexpr int kLeastWarmUp = 60;
// Bars whose features are computed together: the series of a family stay in the second-level cache.
inline constexpr size_t kFeatureBlock = 2048;

const std::array<std::string_view, kFeatureCount>& FeatureNames();

// Features of the bars that have `warm_up` earlier bars in their segment; other bars give no row.
struct FeatureRows {
  std::vector<uint64_t> bar;    // [R] index into the bars
  std::vector<float> features;  // [R, 51] row-major
  uint64_t short_segments = 0;  // segments with fewer than warm_up + 2 bars: no row
};

// Receives rows of features in the order of the bars: bars [first_bar, first_bar + rows) of one
// segment, row-major [rows, 51], valid during the call. Called on one of the threads, once at a
// time, while later rows are computed.
using FeatureVisitor = std::function<void(uint64_t first_bar, std::span<const float> rows)>;

// Computes the same rows block by block: memory does not grow with the bars. `threads` ≥ 1 work on
// each block of `block` bars (≥ 64); the results depend on neither. INVALID_ARGUMENT as below.
absl::Status VisitFeatures(const Bars& bars, int warm_up, int threads, const FeatureVisitor& visit,
                           size_t block = kFeatureBlock);

// Row b depends on bars ≤ b of its own segment only. O(bars × window), float64 inside, one
// rounding. INVALID_ARGUMENT when warm_up < 60 or no segment is long enough. Bars must be valid.
absl::StatusOr<FeatureRows> ComputeFeatures(const Bars& bars, int warm_up = kDefaultWarmUp);

}  // namespace vixen::market
