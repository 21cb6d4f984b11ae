// SPDX-License-Identifier: Apache-2.0
#include "market/features.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/worker_pool.h"
#include "market/features/families.h"
#include "market/segments.h"

namespace vixen::market {
namespace {

// rows[r][c] = columns[c][r], a few rows at a time: both sides stay in the first-level cache.
void Transpose(std::span<const float> columns, size_t rows, std::span<float> out) {
  constexpr size_t kRows = 16;
  for (size_t begin = 0; begin < rows; begin += kRows) {
    const size_t end = std::min(begin + kRows, rows);
    for (size_t column = 0; column < kFeatureCount; ++column) {
      const float* from = columns.data() + column * rows;
      float* to = out.data() + column;
      for (size_t row = begin; row < end; ++row) to[row * kFeatureCount] = from[row];
    }
  }
}

// The features of one segment, block by block: while one block is computed, the one before is
// handed to the visitor.
class SegmentFeatures {
 public:
  SegmentFeatures(base::WorkerPool& pool, size_t block, const FeatureVisitor& visit)
      : pool_(pool), block_(block), visit_(visit) {}

  void Visit(const Bars& bars, const Segment& segment, size_t warm_up) {
    for (size_t begin = 0; begin < segment.bars(); begin += block_) {
      const size_t end = std::min<size_t>(begin + block_, segment.bars());
      const size_t base = begin == 0 ? 0 : begin - kOverlap;
      const size_t first_row = std::min(std::max(begin, warm_up), end);
      next_.first_bar = segment.begin + first_row;
      next_.rows = end - first_row;
      next_.columns.resize(next_.rows * kFeatureCount);
      Fill(BlockOf(bars, segment.begin + base, end - base), begin == 0, first_row - base);
      std::swap(next_, done_);
    }
  }

  // The block that is still to be handed over.
  void Finish() {
    HandOver();
    done_.rows = 0;
  }

 private:
  struct Computed {
    uint64_t first_bar = 0;
    size_t rows = 0;
    std::vector<float> columns;  // [51, rows]
  };

  static BarBlock BlockOf(const Bars& bars, size_t begin, size_t size) {
    const auto part = [&](const std::vector<double>& column) {
      return std::span<const double>(column).subspan(begin, size);
    };
    return {std::span<const int64_t>(bars.timestamp).subspan(begin, size),
            part(bars.open),
            part(bars.high),
            part(bars.low),
            part(bars.close),
            part(bars.volume),
            bars.has_volume};
  }

  void Fill(const BarBlock& block, bool first, size_t first_row) {
    for (Carry& carry : carries_) carry.StartBlock(first);
    // The longest ones first.
    pool_.ParallelFor(6, [&](int64_t piece, int) {
      FeatureSink sink(next_.columns, next_.rows, first_row);
      if (piece == 0) HandOver();
      if (piece == 1) FillReturnFeatures(block, carries_[0], sink);
      if (piece == 2) FillTrendFeatures(block, carries_[1], sink);
      if (piece == 3) FillMomentumFeatures(block, carries_[2], sink);
      if (piece == 4) FillVolumeFeatures(block, sink);
      if (piece == 5) FillPriceFeatures(block, sink);
    });
  }

  void HandOver() {
    if (done_.rows == 0) return;
    rows_.resize(done_.rows * kFeatureCount);
    Transpose(done_.columns, done_.rows, rows_);
    visit_(done_.first_bar, rows_);
  }

  base::WorkerPool& pool_;
  size_t block_;
  const FeatureVisitor& visit_;
  std::array<Carry, 3> carries_;
  Computed next_, done_;
  std::vector<float> rows_;
};

}  // namespace

const std::array<std::string_view, kFeatureCount>& FeatureNames() {
  static constexpr std::array<std::string_view, kFeatureCount> kNames = {
      "ret_1",        "ret_5",        "ret_15",         "ret_30",
      "ret_60",       "gap",          "body",           "range",
      "clv",          "upper_shadow", "lower_shadow",   "body_ratio",
      "ema12_dist",   "ema26_dist",   "sma50_dist",     "sma10_50",
      "macd",         "macd_hist",    "high60_dist",    "adx14",
      "di_diff14",    "aroonosc14",   "linreg_slope14", "trix15",
      "rsi14",        "rsi5",         "stoch_k",        "stoch_d",
      "stochrsi14",   "cci20",        "mfi14",          "ultosc",
      "natr14",       "rv10",         "rv30",           "rv60",
      "rv_ratio",     "parkinson20",  "garman_klass20", "boll_pctb20",
      "boll_width20", "vol_ratio20",  "vol_z20",        "obv20",
      "cmf20",        "vwap20_dist",  "amihud20",       "donchian20",
      "eff_ratio10",  "tod_sin",      "tod_cos"};
  return kNames;
}

absl::Status VisitFeatures(const Bars& bars, int warm_up, int threads, const FeatureVisitor& visit,
                           size_t block) {
  if (warm_up < kLeastWarmUp) {
    return absl::InvalidArgumentError(
        base::StrCat("warm_up = ", warm_up, ": needs at least ", kLeastWarmUp, " bars"));
  }
  const size_t skipped = static_cast<size_t>(warm_up);
  uint64_t longest = 0;
  base::WorkerPool pool(threads);
  SegmentFeatures features(pool, std::max(block, kOverlap), visit);
  for (const Segment& segment : SegmentsOf(bars.last)) {
    longest = std::max(longest, segment.bars());
    if (segment.bars() >= skipped + 2) features.Visit(bars, segment, skipped);
  }
  features.Finish();
  if (longest >= skipped + 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("no segment is long enough for features: the longest has ", longest,
                   " bars, warm_up ", warm_up, " needs ", warm_up + 2));
}

absl::StatusOr<FeatureRows> ComputeFeatures(const Bars& bars, int warm_up) {
  FeatureRows rows;
  VIXEN_RETURN_IF_ERROR(
      VisitFeatures(bars, warm_up, 1, [&](uint64_t first_bar, std::span<const float> block) {
        for (size_t i = 0; i < block.size() / kFeatureCount; ++i) rows.bar.push_back(first_bar + i);
        rows.features.insert(rows.features.end(), block.begin(), block.end());
      }));
  for (const Segment& segment : SegmentsOf(bars.last)) {
    rows.short_segments += segment.bars() < static_cast<uint64_t>(warm_up) + 2 ? 1 : 0;
  }
  return rows;
}

}  // namespace vixen::market
