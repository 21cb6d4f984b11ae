// SPDX-License-Identifier: Apache-2.0
#include "market/import.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/bar_warnings.h"
#include "market/format.h"
#include "market/scaler.h"
#include "market/segments.h"
#include "market/split.h"

namespace vixen::market {
namespace {

constexpr double kDefaultFitShare = 0.8;
constexpr char kConstantColumns[] = "constant_columns";

absl::Status CheckOptions(const ImportOptions& options) {
  if (options.raw && (options.fit || options.scaler_from != nullptr)) {
    return base::UsageError("--raw excludes --fit and --scaler_from");
  }
  if (options.fit && options.scaler_from != nullptr) {
    return base::UsageError("--fit and --scaler_from exclude each other");
  }
  if (options.embargo > 0 && !options.split) return base::UsageError("--embargo needs --split");
  if (options.warm_up < kLeastWarmUp) {
    return base::UsageError(
        absl::StrCat("--warm_up ", options.warm_up, " is below ", kLeastWarmUp));
  }
  if (options.max_gap_ns && *options.max_gap_ns <= 0) {
    return base::UsageError("--max_gap must be longer than 0");
  }
  if (options.split && !options.split->time_ns &&
      !(options.split->share > 0 && options.split->share < 1)) {
    return base::UsageError(
        absl::StrCat("--split ", options.split->share, " is no share between 0 and 1"));
  }
  return absl::OkStatus();
}

void DescribeBars(const Bars& bars, const ImportOptions& options, ImportReport& report) {
  report.bars = bars.size();
  report.has_volume = bars.has_volume;
  report.lowest = *std::ranges::min_element(bars.low);
  report.highest = *std::ranges::max_element(bars.high);
  const auto zeros = std::ranges::count(bars.volume, 0.0);
  report.zero_volume_share = static_cast<double>(zeros) / static_cast<double>(bars.size());
  for (const Segment& segment : SegmentsOf(bars.last)) {
    ++report.bar_segments;
    if (segment.bars() < static_cast<uint64_t>(options.warm_up) + 2) {
      report.short_segments.push_back({bars.timestamp[segment.begin], segment.bars()});
    }
  }
}

// close, next_close, next_high, next_low of each row; on a last row the bar itself stands for the
// next.
std::vector<float> TargetsOf(const Bars& bars, const std::vector<uint64_t>& bar,
                             const std::vector<uint8_t>& last) {
  std::vector<float> targets;
  targets.reserve(bar.size() * 4);
  for (size_t row = 0; row < bar.size(); ++row) {
    const uint64_t now = bar[row];
    const uint64_t next = last[row] != 0 ? now : now + 1;
    const bool end = last[row] != 0;
    targets.push_back(static_cast<float>(bars.close[now]));
    targets.push_back(static_cast<float>(bars.close[next]));
    targets.push_back(static_cast<float>(end ? bars.close[now] : bars.high[next]));
    targets.push_back(static_cast<float>(end ? bars.close[now] : bars.low[next]));
  }
  return targets;
}

// Rows in their final order.
struct Rows {
  std::vector<uint64_t> bar;
  std::vector<uint8_t> last;
  std::vector<float> features;
};

absl::Status Divide(const Bars& bars, const ImportOptions& options, Rows& rows,
                    ImportReport& report) {
  std::vector<int64_t> timestamp;
  timestamp.reserve(rows.bar.size());
  for (const uint64_t bar : rows.bar) timestamp.push_back(bars.timestamp[bar]);
  const int64_t time = options.split->time_ns ? *options.split->time_ns
                                              : SplitTimeOfShare(timestamp, options.split->share);
  SplitRows split = SplitByTime(timestamp, rows.last, time, options.embargo);
  if (split.train_rows == 0 || split.train_rows == split.row.size()) {
    return base::UsageError(
        absl::StrCat("--split at ", FormatUtc(time), " leaves no two rows of a segment ",
                     split.train_rows == 0 ? "before it" : "after it and the embargo",
                     "; the rows run from ", FormatUtc(*std::ranges::min_element(timestamp)),
                     " to ", FormatUtc(*std::ranges::max_element(timestamp))));
  }
  report.split_time = time;
  report.train_rows = split.train_rows;
  report.embargoed = split.embargoed;
  report.short_parts = split.short_parts;

  Rows divided;
  divided.last = std::move(split.last);
  divided.features.reserve(split.row.size() * kFeatureCount);
  for (const uint64_t row : split.row) {
    divided.bar.push_back(rows.bar[row]);
    const auto from = rows.features.begin() + static_cast<ptrdiff_t>(row * kFeatureCount);
    divided.features.insert(divided.features.end(), from, from + kFeatureCount);
  }
  rows = std::move(divided);
  return absl::OkStatus();
}

absl::StatusOr<BarRange> FitRange(const ImportOptions& options, uint64_t rows,
                                  ImportReport& report) {
  if (!options.fit) {
    if (report.train_rows) return BarRange{0, *report.train_rows};
    return BarRange{0, static_cast<uint64_t>(kDefaultFitShare * static_cast<double>(rows))};
  }
  const BarRange fit = *options.fit;
  if (fit.begin >= fit.end || fit.end > rows) {
    return base::UsageError(absl::StrCat("--fit ", fit.begin, ":", fit.end,
                                         " is no range of the dataset's ", rows, " rows"));
  }
  if (report.train_rows && fit.end > *report.train_rows) {
    report.warnings.push_back(absl::StrCat("--fit ", fit.begin, ":", fit.end,
                                           " reaches beyond the ", *report.train_rows,
                                           " training rows: the scaler sees later data"));
  }
  return fit;
}

absl::StatusOr<FittedScaler> ScalerOf(const Dataset& other, const std::vector<std::string>& names) {
  if (other.feature_names() != names) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--scaler_from: that dataset has ", other.feature_count(), " columns which are not the ",
        names.size(), " of this import, or in another order"));
  }
  FittedScaler fitted{other.scaler(), std::vector<uint8_t>(names.size(), 0)};
  const auto constant = other.metadata().find(kConstantColumns);
  if (constant == other.metadata().end()) return fitted;
  const nlohmann::json json = nlohmann::json::parse(constant->second, nullptr, false);
  for (size_t i = 0; i < names.size(); ++i) {
    fitted.constant[i] =
        json.is_array() && std::ranges::find(json, nlohmann::json(names[i])) != json.end();
  }
  return fitted;
}

absl::StatusOr<Scaler> Standardise(const ImportOptions& options,
                                   const std::vector<std::string>& names, Rows& rows,
                                   ImportReport& report,
                                   std::map<std::string, std::string>& metadata) {
  if (options.raw) {
    report.scaler = metadata["scaler_fit"] = "raw";
    return Scaler{};
  }
  FittedScaler fitted;
  if (options.scaler_from != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(fitted, ScalerOf(*options.scaler_from, names));
    report.scaler = absl::StrCat("from dataset ", base::ToHex(options.scaler_from->fingerprint()));
  } else {
    VIXEN_ASSIGN_OR_RETURN(const BarRange fit, FitRange(options, rows.bar.size(), report));
    fitted = FitScaler(rows.features, names.size(), fit);
    report.scaler = absl::StrCat("rows ", fit.begin, ":", fit.end);
  }
  metadata["scaler_fit"] = report.scaler;
  const std::vector<double> shares = ApplyScaler(fitted, rows.features);
  for (size_t i = 0; i < names.size(); ++i) {
    report.clipped.emplace_back(names[i], shares[i]);
    if (fitted.constant[i] != 0) report.constant_columns.push_back(names[i]);
  }
  std::ranges::stable_sort(report.clipped,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  if (!report.constant_columns.empty()) {
    const std::string list = nlohmann::json(report.constant_columns).dump();
    metadata[kConstantColumns] = list;
    report.warnings.push_back(
        absl::StrCat("columns that are constant over the training rows and were set to 0: ", list));
  }
  return std::move(fitted.scaler);
}

}  // namespace

absl::StatusOr<ImportResult> ImportBars(Bars bars, const ImportOptions& options) {
  VIXEN_RETURN_IF_ERROR(CheckOptions(options));
  VIXEN_RETURN_IF_ERROR(ValidateBars(bars));
  ImportReport report;
  report.warnings = std::move(bars.warnings);
  report.left_out = std::move(bars.left_out);
  if (options.max_gap_ns) report.gap_cuts = CutAtGaps(*options.max_gap_ns, bars);
  DescribeBars(bars, options, report);
  for (std::string& warning : WarningsAbout(bars)) report.warnings.push_back(std::move(warning));
  if (report.short_segments.size() == report.bar_segments) {
    const auto longest =
        std::ranges::max_element(report.short_segments, {}, &ImportReport::ShortSegment::bars);
    return absl::InvalidArgumentError(
        absl::StrCat("no segment is long enough: the longest of ", report.bar_segments, " has ",
                     longest->bars, longest->bars == 1 ? " bar" : " bars", ", warm_up ",
                     options.warm_up, " needs at least ", options.warm_up + 2));
  }

  VIXEN_ASSIGN_OR_RETURN(FeatureRows computed, ComputeFeatures(bars, options.warm_up));
  Rows rows{std::move(computed.bar), {}, std::move(computed.features)};
  for (const uint64_t bar : rows.bar) rows.last.push_back(bars.last[bar]);
  if (options.split) VIXEN_RETURN_IF_ERROR(Divide(bars, options, rows, report));

  Dataset::Parts parts;
  for (const std::string_view name : FeatureNames()) parts.feature_names.emplace_back(name);
  parts.extra_metadata = std::move(bars.metadata);
  VIXEN_ASSIGN_OR_RETURN(
      parts.scaler, Standardise(options, parts.feature_names, rows, report, parts.extra_metadata));
  parts.targets = TargetsOf(bars, rows.bar, rows.last);
  for (const uint64_t bar : rows.bar) parts.timestamp.push_back(bars.timestamp[bar]);
  parts.features = std::move(rows.features);
  parts.last = std::move(rows.last);
  parts.train_rows = report.train_rows;
  parts.source = options.source;
  parts.extra_metadata["volume"] = bars.has_volume ? "present" : "absent";
  parts.extra_metadata["warm_up"] = absl::StrCat(options.warm_up);
  if (options.max_gap_ns) parts.extra_metadata["max_gap_ns"] = absl::StrCat(*options.max_gap_ns);
  if (report.split_time) {
    parts.extra_metadata["split_time"] = FormatUtc(*report.split_time);
    parts.extra_metadata["embargo"] = absl::StrCat(options.embargo);
  }

  report.rows = parts.last.size();
  report.segments = static_cast<uint64_t>(std::ranges::count(parts.last, 1));
  report.first_time = *std::ranges::min_element(parts.timestamp);
  report.last_time = *std::ranges::max_element(parts.timestamp);
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset, Dataset::Create(std::move(parts)));
  report.fingerprint = base::ToHex(dataset->fingerprint());
  return ImportResult{std::move(dataset), std::move(report)};
}

}  // namespace vixen::market
