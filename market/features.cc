// SPDX-License-Identifier: Apache-2.0
#include "market/features.h"

#include <algorithm>
#include <span>

#include "base/str_cat.h"
#include "market/features/families.h"

namespace vixen::market {
namespace {

Segment SegmentOf(const Bars& bars, size_t begin, size_t size) {
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

void FillSegment(const Segment& segment, std::span<float> rows, size_t first_bar) {
  FeatureSink sink(rows, first_bar);
  FillPriceFeatures(segment, sink);
  FillTrendFeatures(segment, sink);
  FillMomentumFeatures(segment, sink);
  FillVolatilityFeatures(segment, sink);
  FillVolumeFeatures(segment, sink);
}

// Calls visit(begin, size) for each segment.
template <typename Visit>
void ForEachSegment(const Bars& bars, Visit visit) {
  size_t begin = 0;
  for (size_t b = 0; b < bars.size(); ++b) {
    if (bars.last[b] == 0 && b + 1 < bars.size()) continue;
    visit(begin, b + 1 - begin);
    begin = b + 1;
  }
}

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

absl::StatusOr<FeatureRows> ComputeFeatures(const Bars& bars, int warm_up) {
  if (warm_up < kLeastWarmUp) {
    return absl::InvalidArgumentError(
        base::StrCat("warm_up = ", warm_up, ": needs at least ", kLeastWarmUp, " bars"));
  }
  const size_t skipped = static_cast<size_t>(warm_up);
  FeatureRows rows;
  size_t longest = 0, count = 0;
  ForEachSegment(bars, [&](size_t, size_t size) {
    longest = std::max(longest, size);
    if (size >= skipped + 2) count += size - skipped;
  });
  if (count == 0) {
    return absl::InvalidArgumentError(
        base::StrCat("no segment is long enough for features: the longest has ", longest,
                     " bars, warm_up ", warm_up, " needs ", warm_up + 2));
  }
  rows.bar.reserve(count);
  rows.features.resize(count * kFeatureCount);
  ForEachSegment(bars, [&](size_t begin, size_t size) {
    if (size < skipped + 2) {
      ++rows.short_segments;
      return;
    }
    const size_t first_row = rows.bar.size();
    for (size_t k = skipped; k < size; ++k) rows.bar.push_back(begin + k);
    FillSegment(SegmentOf(bars, begin, size),
                std::span<float>(rows.features)
                    .subspan(first_row * kFeatureCount, (size - skipped) * kFeatureCount),
                skipped);
  });
  return rows;
}

}  // namespace vixen::market
