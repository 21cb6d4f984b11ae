// SPDX-License-Identifier: Apache-2.0
#include "tool/report/svg_frame.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tool/format.h"

namespace vixen::tool {

std::string Num(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

double TextWidth(std::string_view text) {
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return 6.8 * static_cast<double>(characters);
}

double LegendWidth(const ChartSeries& series) { return 32 + TextWidth(series.name); }

std::vector<std::vector<const ChartSeries*>> LegendRows(const Chart& chart, double width) {
  std::vector<std::vector<const ChartSeries*>> rows;
  double used = 0;
  for (auto series = chart.series.rbegin(); series != chart.series.rend(); ++series) {
    if (series->name.empty()) continue;
    if (rows.empty() || used + LegendWidth(*series) > width) {
      rows.emplace_back();
      used = 0;
    }
    rows.back().push_back(&*series);
    used += LegendWidth(*series);
  }
  return rows;
}

ChartFrame::ChartFrame(const Chart& chart, int width)
    : chart_(chart), width_(width), narrow_(width < kWideChart) {
  for (const ChartSeries& series : chart.series) {
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      x_.Take(series.x[i]);
      y_.Take(series.y[i]);
      if (i < series.y2.size()) y_.Take(series.y2[i]);
    }
    if (series.mark == Mark::kBars && series.x.size() > 1) {
      bin_ = series.x[1] - series.x[0];
      x_.Take(series.x.front() - bin_ / 2);
      x_.Take(series.x.back() + bin_ / 2);
    }
  }
  if (empty()) return;
  log_ = chart.y_log && y_.low > 0;
  if (chart.zero_line) y_.Take(0);
  if (y_.high == y_.low) {
    const double pad = y_.low == 0 ? 1 : std::abs(y_.low) * 0.05;
    y_.low -= log_ ? pad / 2 : pad;
    y_.high += pad;
  } else if (log_) {
    const double pad = std::pow(y_.high / y_.low, 0.04);
    y_.low /= pad;
    y_.high *= pad;
  } else {
    const double pad = (y_.high - y_.low) * 0.05;
    const bool at_zero_low = chart.zero_line && y_.low == 0;
    const bool at_zero_high = chart.zero_line && y_.high == 0;
    if (!at_zero_low) y_.low -= pad;
    if (!at_zero_high) y_.high += pad;
  }
  if (x_.high == x_.low) {
    x_.low -= 0.5;
    x_.high += 0.5;
  }
  const int rows = std::clamp((chart.height - 50) / 38, 4, 8);
  y_ticks_ = log_ ? LogTicks(y_.low, y_.high, rows, chart.y_format)
                  : LinearTicks(y_.low, y_.high, rows, chart.y_format);
  const int columns = narrow_ ? 4 : 7;
  x_ticks_ = chart.x_format == AxisFormat::kTime
                 ? TimeTicks(x_.low, x_.high, columns)
                 : LinearTicks(x_.low, x_.high, columns, chart.x_format);
  // A common least margin, so that charts below each other share their time axis.
  double longest = narrow_ ? 34 : 54;
  for (const Tick& tick : y_ticks_) longest = std::max(longest, TextWidth(tick.label));
  left_ = 10 + longest;
  const size_t rows_of_legend = LegendRows(chart, right() - kLegendLeft).size();
  extra_legend_ = rows_of_legend > 1 ? kLegendRow * static_cast<double>(rows_of_legend - 1) : 0;
}

void ChartFrame::Draw(std::string& svg) const {
  for (const Tick& tick : y_ticks_) {
    const double y = Y(tick.value);
    absl::StrAppend(&svg, "<line class=\"grid\" x1=\"", Num(left()), "\" x2=\"", Num(right()),
                    "\" y1=\"", Num(y), "\" y2=\"", Num(y), "\"/>");
    absl::StrAppend(&svg, "<text class=\"tick\" text-anchor=\"end\" x=\"", Num(left() - 6),
                    "\" y=\"", Num(y + 4), "\">", EscapeMarkup(tick.label), "</text>");
  }
  for (const Tick& tick : x_ticks_) {
    const double x = X(tick.value);
    absl::StrAppend(&svg, "<line class=\"axis\" x1=\"", Num(x), "\" x2=\"", Num(x), "\" y1=\"",
                    Num(bottom()), "\" y2=\"", Num(bottom() + 4), "\"/>");
    const double half = TextWidth(tick.label) / 2;
    if (x - half < 0) continue;
    const bool at_edge = x + half > width_;
    absl::StrAppend(&svg, "<text class=\"tick\" text-anchor=\"", at_edge ? "end" : "middle",
                    "\" x=\"", Num(at_edge ? right() : x), "\" y=\"", Num(bottom() + 17), "\">",
                    EscapeMarkup(tick.label), "</text>");
  }
  absl::StrAppend(&svg, "<line class=\"axis\" x1=\"", Num(left()), "\" x2=\"", Num(right()),
                  "\" y1=\"", Num(bottom()), "\" y2=\"", Num(bottom()), "\"/>");
  if (chart_.zero_line && !log_) {
    absl::StrAppend(&svg, "<line class=\"zero\" x1=\"", Num(left()), "\" x2=\"", Num(right()),
                    "\" y1=\"", Num(base()), "\" y2=\"", Num(base()), "\"/>");
  }
  if (!chart_.x_label.empty()) {
    absl::StrAppend(&svg, "<text class=\"tick\" text-anchor=\"end\" x=\"", Num(right()), "\" y=\"",
                    chart_.height - 6, "\">", EscapeMarkup(chart_.x_label), "</text>");
  }
  if (!chart_.y_label.empty()) {
    absl::StrAppend(&svg, "<text class=\"tick\" x=\"2\" y=\"12\">", EscapeMarkup(chart_.y_label),
                    "</text>");
  }
}

}  // namespace vixen::tool
