// SPDX-License-Identifier: Apache-2.0
#include "tool/import/report_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "market/format.h"

namespace vixen::tool {
namespace {

using market::FormatUtc;
using market::FormatValue;

constexpr size_t kMostClipped = 3;
constexpr size_t kMostShortSegments = 5;

std::string ShortSegments(const market::ImportReport& report) {
  std::string text;
  const size_t shown = std::min(report.short_segments.size(), kMostShortSegments);
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", FormatUtc(report.short_segments[i].first_time), " (",
                    report.short_segments[i].bars, " bars)");
  }
  if (shown < report.short_segments.size()) absl::StrAppend(&text, ", …");
  return text;
}

std::string Clipped(const market::ImportReport& report) {
  std::string text;
  for (size_t i = 0; i < std::min(report.clipped.size(), kMostClipped); ++i) {
    const auto& [name, share] = report.clipped[i];
    if (share == 0) break;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ",
                    absl::StrFormat("%.3g %%", 100 * share));
  }
  return text.empty() ? "none" : text;
}

std::string Span(int64_t ns) { return absl::FormatDuration(absl::Nanoseconds(ns)); }

// What the bars look like: a line each for gaps, outliers and stillness.
template <typename Line>
void QualityText(const market::QualityReport& quality, Line line) {
  if (quality.interval_ns > 0) line("interval", Span(quality.interval_ns));
  if (quality.gaps > 0) {
    std::string text =
        absl::StrCat(quality.gaps, ", ", quality.missing_bars, " bars missing; longest");
    for (const auto& [time, ns] : quality.longest_gaps) {
      absl::StrAppend(&text, " ", Span(ns), " after ", FormatUtc(time), ";");
    }
    text.pop_back();
    line("gaps", text);
  }
  if (quality.outliers > 0) {
    std::string text = absl::StrFormat("%d returns beyond %.3g %%; largest", quality.outliers,
                                       100 * quality.outlier_bound);
    for (const auto& [time, value] : quality.largest_outliers) {
      absl::StrAppendFormat(&text, " %+.3g %% at %s;", 100 * value, FormatUtc(time));
    }
    text.pop_back();
    line("outliers", absl::StrCat(text, " (a split or dividend? --factors)"));
  }
  line("stillness",
       absl::StrCat(quality.motionless, " bars without movement; longest run of one close ",
                    quality.longest_still, " bars from ", FormatUtc(quality.longest_still_time)));
}

nlohmann::json QualityJson(const market::QualityReport& quality) {
  nlohmann::json json = {{"interval_seconds", nullptr},
                         {"gaps", quality.gaps},
                         {"missing_bars", quality.missing_bars},
                         {"longest_gaps", nlohmann::json::array()},
                         {"outlier_bound", quality.outlier_bound},
                         {"outliers", quality.outliers},
                         {"largest_outliers", nlohmann::json::array()},
                         {"motionless_bars", quality.motionless},
                         {"longest_still", quality.longest_still},
                         {"longest_still_time", FormatUtc(quality.longest_still_time)}};
  if (quality.interval_ns > 0) {
    json["interval_seconds"] = static_cast<double>(quality.interval_ns) / 1e9;
  }
  for (const auto& [time, ns] : quality.longest_gaps) {
    json["longest_gaps"].push_back(
        {{"after", FormatUtc(time)}, {"seconds", static_cast<double>(ns) / 1e9}});
  }
  for (const auto& [time, value] : quality.largest_outliers) {
    json["largest_outliers"].push_back({{"time", FormatUtc(time)}, {"log_return", value}});
  }
  return json;
}

}  // namespace

std::string ImportText(const market::ImportReport& report, const std::string& out) {
  std::string text;
  const auto line = [&text](const char* what, const std::string& value) {
    absl::StrAppendFormat(&text, "%-13s %s\n", what, value);
  };
  line("bars", absl::StrCat(
                   report.bars, " in ", report.bar_segments, " segments",
                   report.gap_cuts > 0 ? absl::StrCat(", ", report.gap_cuts, " cut at gaps") : ""));
  for (const auto& [reason, count] : report.left_out) {
    line("left out", absl::StrCat(count, " ", reason));
  }
  line("prices", absl::StrCat(FormatValue(report.lowest), " to ", FormatValue(report.highest)));
  line("volume", report.has_volume
                     ? absl::StrFormat("0 in %.3g %% of the bars", 100 * report.zero_volume_share)
                     : "absent");
  QualityText(report.quality, line);
  line("rows", absl::StrCat(report.rows, " in ", report.segments, " segments"));
  line("span", absl::StrCat(FormatUtc(report.first_time), " to ", FormatUtc(report.last_time)));
  if (report.train_rows) {
    const bool block = report.split_end.has_value();
    line("split",
         absl::StrCat(block ? "block from " : "at ", FormatUtc(*report.split_time),
                      block ? absl::StrCat(" to ", FormatUtc(*report.split_end)) : "", ": ",
                      *report.train_rows, block ? " rows outside, " : " rows earlier, ",
                      report.rows - *report.train_rows, block ? " inside, " : " later, ",
                      report.embargoed, " embargoed, ", report.short_parts,
                      " parts of one row left out"));
  }
  line("scaler", report.scaler);
  if (report.scaler != "raw") line("clipped most", Clipped(report));
  if (!report.short_segments.empty()) {
    line("too short", absl::StrCat(report.short_segments.size(),
                                   " segments gave no rows: ", ShortSegments(report)));
  }
  for (const std::string& warning : report.warnings) line("warning", warning);
  line("fingerprint", report.fingerprint);
  line("written", out);
  return text;
}

std::string ImportJson(const market::ImportReport& report, const std::string& out) {
  nlohmann::json json = {{"out", out},
                         {"bars", report.bars},
                         {"bar_segments", report.bar_segments},
                         {"gap_cuts", report.gap_cuts},
                         {"left_out", report.left_out},
                         {"rows", report.rows},
                         {"segments", report.segments},
                         {"first_time", FormatUtc(report.first_time)},
                         {"last_time", FormatUtc(report.last_time)},
                         {"lowest_price", report.lowest},
                         {"highest_price", report.highest},
                         {"volume", report.has_volume ? "present" : "absent"},
                         {"zero_volume_share", report.zero_volume_share},
                         {"quality", QualityJson(report.quality)},
                         {"scaler", report.scaler},
                         {"constant_columns", report.constant_columns},
                         {"warnings", report.warnings},
                         {"fingerprint", report.fingerprint},
                         {"train_rows", nullptr},
                         {"split_time", nullptr},
                         {"split_end", nullptr},
                         {"embargoed", report.embargoed},
                         {"short_parts", report.short_parts}};
  if (report.train_rows) json["train_rows"] = *report.train_rows;
  if (report.split_time) json["split_time"] = FormatUtc(*report.split_time);
  if (report.split_end) json["split_end"] = FormatUtc(*report.split_end);
  json["short_segments"] = nlohmann::json::array();
  for (const auto& segment : report.short_segments) {
    json["short_segments"].push_back(
        {{"first_time", FormatUtc(segment.first_time)}, {"bars", segment.bars}});
  }
  json["clipped_share"] = nlohmann::json::object();
  for (const auto& [name, share] : report.clipped) json["clipped_share"][name] = share;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace vixen::tool
