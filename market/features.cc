// SPDX-License-Identifier: Apache-2.0
#include "market/features.h"

#include <algorithm>
#include <span>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/worker_pool.h"
#include "market/features/families.h"
#include "market/segments.h"

namespace vixen::market {
namespace {

// The features of one segment, block by block.
class SegmentFeatures {
 public:
  SegmentFeatures(base::WorkerPool& pool, size_t block) : pool_(pool), block_(block) {}

  void Visit(const Bars& bars, const Segment& segment, size_t warm_up,
             const FeatureVisitor& visit) {
    for (size_t begin = 0; begin < segment.bars(); begin += block_) {
      const size_t end = std::min<size_t>(begin + block_, segment.bars());
      const size_t base = begin == 0 ? 0 : begin - kOverlap;
      const size_t first_row = std::min(std::max(begin, warm_up), end);
      rows_.resize((end - first_row) * kFeatureCount);
      Fill(BlockOf(bars, segment.begin + base, end - base), begin == 0, first_row - base);
      if (!rows_.empty()) visit(segment.begin + first_row, rows_);
    }
  }

 private:
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
    pool_.ParallelFor(5, [&](int64_t family, int) {
      FeatureSink sink(rows_, first_row);
      if (family == 0) FillTrendFeatures(block, carries_[0], sink);
      if (family == 1) FillMomentumFeatures(block, carries_[1], sink);
      if (family == 2) FillVolatilityFeatures(block, carries_[2], sink);
      if (family == 3) FillPriceFeatures(block, sink);
      if (family == 4) FillVolumeFeatures(block, sink);
    });
  }

  base::WorkerPool& pool_;
  size_t block_;
  std::array<Carry, 3> carries_;
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
  SegmentFeatures features(pool, std::max(block, kOverlap));
  for (const Segment& segment : SegmentsOf(bars.last)) {
    longest = std::max(longest, segment.bars());
    if (segment.bars() >= skipped + 2) features.Visit(bars, segment, skipped, visit);
  }
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
