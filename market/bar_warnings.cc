// SPDX-License-Identifier: Apache-2.0
#include "market/bar_warnings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "market/format.h"
#include "market/segments.h"

namespace vixen::market {
namespace {

// Bars on either side of a place, whose typical volumes are compared there.
constexpr size_t kVolumeWindow = 10;
constexpr size_t kLeastVolumes = 3;
// A unit changed by 1,000 shows with the market's own noise on top: from 500 on it is reported.
constexpr double kVolumeJump = 500;

struct Jump {
  double log10_factor = 0;
  uint64_t bar = 0;
};

// The largest jump of the mean log volume between windows before and after a bar of one segment.
Jump LargestJump(const Bars& bars, const Segment& segment) {
  std::vector<double> sum{0.0};  // prefix sums of log10 of the volumes above 0
  std::vector<uint64_t> place;
  for (uint64_t bar = segment.begin; bar < segment.end; ++bar) {
    if (bars.volume[bar] <= 0) continue;
    sum.push_back(sum.back() + std::log10(bars.volume[bar]));
    place.push_back(bar);
  }
  Jump largest;
  for (size_t i = kLeastVolumes; i + kLeastVolumes <= place.size(); ++i) {
    const size_t before = std::min(kVolumeWindow, i);
    const size_t after = std::min(kVolumeWindow, place.size() - i);
    const double jump = (sum[i + after] - sum[i]) / static_cast<double>(after) -
                        (sum[i] - sum[i - before]) / static_cast<double>(before);
    if (std::fabs(jump) > std::fabs(largest.log10_factor)) largest = {jump, place[i]};
  }
  return largest;
}

void WarnAboutVolume(const Bars& bars, std::vector<std::string>& warnings) {
  if (!bars.has_volume) return;
  if (std::ranges::all_of(bars.volume, [](double volume) { return volume == 0; })) {
    warnings.push_back(
        "the volume is 0 in every bar; if the source has none, --volume none marks it absent");
    return;
  }
  for (const Segment& segment : SegmentsOf(bars.last)) {
    const Jump jump = LargestJump(bars, segment);
    if (std::fabs(jump.log10_factor) < std::log10(kVolumeJump)) continue;
    warnings.push_back(absl::StrFormat(
        "the volume jumps about %.0f-fold (%s) at %s: did its unit change?",
        std::pow(10.0, std::fabs(jump.log10_factor)), jump.log10_factor > 0 ? "up" : "down",
        FormatUtc(bars.timestamp[jump.bar])));
  }
}

void WarnAboutFloat32(const Bars& bars, std::vector<std::string>& warnings) {
  uint64_t merged = 0, example = 0;
  for (uint64_t bar = 1; bar < bars.size(); ++bar) {
    if (bars.last[bar - 1] != 0 || bars.close[bar] == bars.close[bar - 1]) continue;
    if (static_cast<float>(bars.close[bar]) != static_cast<float>(bars.close[bar - 1])) continue;
    if (merged++ == 0) example = bar;
  }
  if (merged == 0) return;
  const float rounded = static_cast<float>(bars.close[example]);
  const float step = std::nextafter(rounded, std::numeric_limits<float>::infinity()) - rounded;
  warnings.push_back(absl::StrCat(
      "float32 targets cannot tell close ", FormatValue(bars.close[example - 1]), " and ",
      FormatValue(bars.close[example]), " apart (", FormatUtc(bars.timestamp[example]),
      "): their step there is ", FormatValue(step), "; ", merged, " of ", bars.size() - 1,
      " price changes vanish so; the features are computed in float64 and keep them"));
}

}  // namespace

std::vector<std::string> WarningsAbout(const Bars& bars) {
  std::vector<std::string> warnings;
  if (std::ranges::max(bars.high) == std::ranges::min(bars.low)) {
    warnings.push_back(absl::StrCat("the price is ", FormatValue(bars.low[0]),
                                    " in every bar: there is nothing to trade"));
  }
  WarnAboutVolume(bars, warnings);
  WarnAboutFloat32(bars, warnings);
  return warnings;
}

}  // namespace vixen::market
