// SPDX-License-Identifier: Apache-2.0
#include "market/import.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/worker_pool.h"
#include "market/bar_check.h"
#include "market/bar_warnings.h"
#include "market/dataset_file.h"
#include "market/format.h"
#include "market/scaler.h"
#include "market/segments.h"
#include "market/split.h"

namespace vixen::market {
namespace {

constexpr double kDefaultFitShare = 0.8;
constexpr char kConstantColumns[] = "constant_columns";

int WarmUpOf(const ImportOptions& options) {
  return options.warm_up.value_or(options.own_features ? 0 : kDefaultWarmUp);
}

absl::Status CheckOptions(const ImportOptions& options) {
  if (options.raw && (options.fit || options.scaler_from != nullptr)) {
    return base::UsageError("--raw excludes --fit and --scaler_from");
  }
  if (options.fit && options.scaler_from != nullptr) {
    return base::UsageError("--fit and --scaler_from exclude each other");
  }
  if (options.embargo > 0 && !options.split) return base::UsageError("--embargo needs --split");
  const int least = options.own_features ? 0 : kLeastWarmUp;
  if (WarmUpOf(options) < least) {
    return base::UsageError(absl::StrCat("--warm_up ", *options.warm_up, " is below ", least));
  }
  if (options.max_gap_ns && *options.max_gap_ns <= 0) {
    return base::UsageError("--max_gap must be longer than 0");
  }
  for (const std::optional<SplitPoint>& point : {options.split, options.split_end}) {
    if (point && !point->time_ns && !(point->share > 0 && point->share < 1)) {
      return base::UsageError(
          absl::StrCat("--split ", point->share, " is no share between 0 and 1"));
    }
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
    if (segment.bars() < static_cast<uint64_t>(WarmUpOf(options)) + 2) {
      report.short_segments.push_back({bars.timestamp[segment.begin], segment.bars()});
    }
  }
}

int64_t TimeOf(const SplitPoint& point, std::span<const int64_t> timestamp) {
  return point.time_ns ? *point.time_ns : SplitTimeOfShare(timestamp, point.share);
}

// The bars that become rows, in the order of the rows.
absl::StatusOr<std::vector<RowRange>> RangesOf(const Bars& bars, const ImportOptions& options,
                                               ImportReport& report) {
  const uint64_t warm_up = static_cast<uint64_t>(WarmUpOf(options));
  std::vector<RowRange> ranges;
  for (const Segment& segment : SegmentsOf(bars.last)) {
    if (segment.bars() >= warm_up + 2) ranges.push_back({segment.begin + warm_up, segment.end});
  }
  if (!options.split) return ranges;
  std::vector<int64_t> timestamp;
  for (const RowRange& range : ranges) {
    timestamp.insert(timestamp.end(), bars.timestamp.begin() + static_cast<ptrdiff_t>(range.begin),
                     bars.timestamp.begin() + static_cast<ptrdiff_t>(range.end));
  }
  const int64_t time = TimeOf(*options.split, timestamp);
  if (options.split_end) report.split_end = TimeOf(*options.split_end, timestamp);
  if (report.split_end && *report.split_end <= time) {
    return base::UsageError(absl::StrCat("--split from ", FormatUtc(time), " to ",
                                         FormatUtc(*report.split_end), " holds no time"));
  }
  SplitRanges split = report.split_end ? SplitAround(bars.timestamp, ranges, time,
                                                     *report.split_end, options.embargo)
                                       : SplitByTime(bars.timestamp, ranges, time, options.embargo);
  uint64_t rows = 0;
  for (const RowRange& range : split.ranges) rows += range.rows();
  if (split.train_rows == 0 || split.train_rows == rows) {
    const bool no_training = split.train_rows == 0;
    const std::string where = report.split_end ? (no_training ? "outside it" : "inside it")
                              : no_training    ? "before it"
                                               : "after it and the embargo";
    return base::UsageError(
        absl::StrCat(report.split_end ? "--split from " : "--split at ", FormatUtc(time),
                     report.split_end ? absl::StrCat(" to ", FormatUtc(*report.split_end)) : "",
                     " leaves no two rows of a segment ", where, "; the rows run from ",
                     FormatUtc(*std::ranges::min_element(timestamp)), " to ",
                     FormatUtc(*std::ranges::max_element(timestamp)), " (", timestamp.size(),
                     " of them", options.embargo > 0 ? ", a smaller --embargo leaves more)" : ")"));
  }
  report.split_time = time;
  report.train_rows = split.train_rows;
  report.embargoed = split.embargoed;
  report.short_parts = split.short_parts;
  return std::move(split.ranges);
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

// What the scaler will come from, in words; tells the file which rows it is fitted on, if it is.
absl::Status ChooseScaler(const ImportOptions& options, DatasetFile& file, ImportReport& report) {
  if (options.raw) {
    report.scaler = "raw";
  } else if (options.scaler_from != nullptr) {
    report.scaler = absl::StrCat("from dataset ", base::ToHex(options.scaler_from->fingerprint()));
  } else {
    VIXEN_ASSIGN_OR_RETURN(const BarRange fit, FitRange(options, file.rows(), report));
    report.scaler = absl::StrCat("rows ", fit.begin, ":", fit.end);
    file.FitOn(fit);
  }
  return absl::OkStatus();
}

// The scaler as the options ask for it; none with `raw`.
absl::StatusOr<std::optional<FittedScaler>> ScalerFor(const ImportOptions& options,
                                                      const std::vector<std::string>& names,
                                                      DatasetFile& file) {
  if (options.raw) return std::nullopt;
  if (options.scaler_from == nullptr) return file.Fit();
  VIXEN_ASSIGN_OR_RETURN(FittedScaler other, ScalerOf(*options.scaler_from, names));
  return other;
}

void DescribeRows(const Bars& bars, const std::vector<RowRange>& ranges, ImportReport& report) {
  report.segments = ranges.size();
  report.first_time = INT64_MAX;
  report.last_time = INT64_MIN;
  for (const RowRange& range : ranges) {
    report.rows += range.rows();
    report.first_time = std::min(report.first_time, bars.timestamp[range.begin]);
    report.last_time = std::max(report.last_time, bars.timestamp[range.end - 1]);
  }
}

std::map<std::string, std::string> MetadataOf(Bars& bars, const ImportOptions& options,
                                              const ImportReport& report) {
  std::map<std::string, std::string> metadata = std::move(bars.metadata);
  metadata["volume"] = bars.has_volume ? "present" : "absent";
  metadata["warm_up"] = absl::StrCat(WarmUpOf(options));
  if (options.own_features) metadata["features_from"] = options.own_features->source;
  if (report.max_gap_ns) metadata["max_gap_ns"] = absl::StrCat(*report.max_gap_ns);
  if (report.split_time) {
    metadata["split_time"] = FormatUtc(*report.split_time);
    if (report.split_end) metadata["split_end"] = FormatUtc(*report.split_end);
    metadata["embargo"] = absl::StrCat(options.embargo);
  }
  return metadata;
}

absl::Status PutFeatures(const Bars& bars, const ImportOptions& options, DatasetFile& file) {
  if (options.own_features) {
    file.Put(0, options.own_features->values);
    return absl::OkStatus();
  }
  return VisitFeatures(
      bars, WarmUpOf(options), options.threads,
      [&file](uint64_t first_bar, std::span<const float> rows) { file.Put(first_bar, rows); });
}

void DescribeClipping(const std::vector<std::string>& names, const std::vector<uint64_t>& clipped,
                      ImportReport& report) {
  for (size_t i = 0; i < names.size(); ++i) {
    report.clipped.emplace_back(names[i],
                                static_cast<double>(clipped[i]) / static_cast<double>(report.rows));
  }
  std::ranges::stable_sort(report.clipped,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
}

absl::Status TreatGaps(const ImportOptions& options, Bars& bars, ImportReport& report) {
  report.max_gap_ns = options.max_gap_ns;
  if (options.gaps && !report.max_gap_ns && report.quality.interval_ns > 0) {
    report.max_gap_ns = report.quality.interval_ns;
  }
  const Gaps gaps = options.gaps.value_or(Gaps::kSegment);
  if (!report.max_gap_ns || gaps == Gaps::kDrop) return absl::OkStatus();
  if (gaps == Gaps::kSegment) {
    report.gap_cuts = CutAtGaps(*report.max_gap_ns, bars);
    return absl::OkStatus();
  }
  const std::optional<uint64_t> bar = FirstGap(*report.max_gap_ns, bars);
  if (!bar) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bar ", *bar, ", time ", FormatUtc(bars.timestamp[*bar]), ": a gap after bar ",
                   *bar - 1, " (", FormatUtc(bars.timestamp[*bar - 1]),
                   "); --gaps segment cuts there, --gaps drop joins"));
}

// Of weekends and holidays nothing is said; a series that stood for weeks is rarely one series.
void WarnAboutLongGap(ImportReport& report) {
  constexpr int64_t kLong = int64_t{14} * 86'400 * 1'000'000'000;
  constexpr int64_t kManyIntervals = 20;
  const QualityReport& quality = report.quality;
  if (report.max_gap_ns || quality.longest_gaps.empty()) return;
  const auto& [time, ns] = quality.longest_gaps.front();
  if (ns <= kLong || ns <= kManyIntervals * quality.interval_ns) return;
  report.warnings.push_back(absl::StrCat("no bars for ", ns / (int64_t{86'400} * 1'000'000'000),
                                         " days after ", FormatUtc(time),
                                         ": returns and windows reach across it; --max_gap 14d "
                                         "begins a segment there"));
}

}  // namespace

absl::StatusOr<ImportReport> ImportBars(Bars bars, const ImportOptions& options,
                                        const std::string& path) {
  VIXEN_RETURN_IF_ERROR(CheckOptions(options));
  VIXEN_RETURN_IF_ERROR(ValidateBars(bars));
  if (options.own_features) {
    VIXEN_RETURN_IF_ERROR(CheckOwnFeatures(*options.own_features, bars));
  }
  ImportReport report;
  report.warnings = std::move(bars.warnings);
  report.left_out = std::move(bars.left_out);
  report.quality = QualityOf(bars);
  VIXEN_RETURN_IF_ERROR(TreatGaps(options, bars, report));
  WarnAboutLongGap(report);
  DescribeBars(bars, options, report);
  for (std::string& warning : WarningsAbout(bars)) report.warnings.push_back(std::move(warning));
  if (report.short_segments.size() == report.bar_segments) {
    const auto longest =
        std::ranges::max_element(report.short_segments, {}, &ImportReport::ShortSegment::bars);
    return absl::InvalidArgumentError(
        absl::StrCat("no segment is long enough: the longest of ", report.bar_segments, " has ",
                     longest->bars, longest->bars == 1 ? " bar" : " bars", ", warm_up ",
                     WarmUpOf(options), " needs at least ", WarmUpOf(options) + 2,
                     "; bring more bars", report.gap_cuts > 0 ? ", or a longer --max_gap" : "",
                     WarmUpOf(options) > kLeastWarmUp && !options.own_features
                         ? absl::StrCat(", or a smaller --warm_up (", kLeastWarmUp, " at least)")
                         : ""));
  }

  VIXEN_ASSIGN_OR_RETURN(const std::vector<RowRange> ranges, RangesOf(bars, options, report));
  DescribeRows(bars, ranges, report);
  std::vector<std::string> names;
  if (options.own_features) {
    names = options.own_features->names;
  } else {
    names.assign(FeatureNames().begin(), FeatureNames().end());
  }
  std::map<std::string, std::string> metadata = MetadataOf(bars, options, report);
  size_t metadata_bytes = options.source.size();
  for (const auto& [key, value] : metadata) metadata_bytes += key.size() + value.size() + 8;

  VIXEN_ASSIGN_OR_RETURN(DatasetFile file,
                         DatasetFile::Create(path, names, ranges, metadata_bytes));
  VIXEN_RETURN_IF_ERROR(file.AddBars(bars));
  VIXEN_RETURN_IF_ERROR(ChooseScaler(options, file, report));
  VIXEN_RETURN_IF_ERROR(PutFeatures(bars, options, file));
  VIXEN_ASSIGN_OR_RETURN(const std::optional<FittedScaler> fitted, ScalerFor(options, names, file));
  metadata["scaler_fit"] = report.scaler;
  if (fitted) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (fitted->constant[i] != 0) report.constant_columns.push_back(names[i]);
    }
  }
  if (!report.constant_columns.empty()) {
    const std::string list = nlohmann::json(report.constant_columns).dump();
    metadata[kConstantColumns] = list;
    report.warnings.push_back(
        absl::StrCat("columns that are constant over the training rows and were set to 0: ", list));
  }
  base::WorkerPool pool(options.threads);
  VIXEN_ASSIGN_OR_RETURN(const DatasetFile::Written written,
                         file.Finish(fitted, options.source, report.train_rows, metadata, pool));
  if (fitted) DescribeClipping(names, written.clipped, report);
  report.fingerprint = written.fingerprint;
  return report;
}

}  // namespace vixen::market
