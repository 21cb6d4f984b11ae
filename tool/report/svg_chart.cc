// SPDX-License-Identifier: Apache-2.0
#include "tool/report/svg_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr int kWide = 1040;
constexpr int kHalf = 500;
constexpr int kNarrow = 380;
// The lowest and highest of each pixel's values: more points cannot be seen.
constexpr size_t kWidePoints = 2 * kWide;
constexpr size_t kNarrowPoints = 2 * kNarrow;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// "12.3": a tenth of a unit is below what a screen shows.
std::string Num(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

// About as wide as the page's fonts draw it at 12 units.
double TextWidth(std::string_view text) {
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return 6.8 * static_cast<double>(characters);
}

constexpr double kLegendLeft = 4;
constexpr double kLegendRow = 16;

double LegendWidth(const ChartSeries& series) { return 32 + TextWidth(series.name); }

// The named series in as many rows as `width` asks for. What is drawn last lies on top and is named
// first.
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

struct Range {
  double low = kInfinity;
  double high = -kInfinity;
  void Take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// From data to picture.
class Frame {
 public:
  Frame(const Chart& chart, int width) : chart_(chart), width_(width), narrow_(width < kWide) {
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

  bool empty() const { return x_.empty() || y_.empty(); }
  double left() const { return left_; }
  double right() const { return width_ - 10.0; }
  double top() const { return 24 + extra_legend_; }
  double bottom() const { return chart_.height - (chart_.x_label.empty() ? 26.0 : 42.0); }
  double X(double x) const {
    return left() + (x - x_.low) / (x_.high - x_.low) * (right() - left());
  }
  double Y(double y) const {
    const double share = log_ ? std::log(y / y_.low) / std::log(y_.high / y_.low)
                              : (y - y_.low) / (y_.high - y_.low);
    return bottom() - share * (bottom() - top());
  }
  double base() const { return log_ ? bottom() : Y(std::clamp(0.0, y_.low, y_.high)); }
  double bin_width() const { return bin_ / (x_.high - x_.low) * (right() - left()); }
  bool narrow() const { return narrow_; }

  void Draw(std::string& svg) const {
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
      absl::StrAppend(&svg, "<text class=\"tick\" text-anchor=\"end\" x=\"", Num(right()),
                      "\" y=\"", chart_.height - 6, "\">", EscapeMarkup(chart_.x_label), "</text>");
    }
    if (!chart_.y_label.empty()) {
      absl::StrAppend(&svg, "<text class=\"tick\" x=\"2\" y=\"12\">", EscapeMarkup(chart_.y_label),
                      "</text>");
    }
  }

 private:
  const Chart& chart_;
  const int width_;
  const bool narrow_;
  Range x_;
  Range y_;
  bool log_ = false;
  double bin_ = 0;
  double left_ = 0;
  double extra_legend_ = 0;  // height of its rows beyond the first
  std::vector<Tick> x_ticks_;
  std::vector<Tick> y_ticks_;
};

void DrawLine(const ChartSeries& series, const Frame& frame, size_t points, std::string& svg) {
  std::string path;
  bool pen = false;
  double first_x = 0, last_x = 0;
  const bool area = series.mark == Mark::kArea;
  const auto close = [&] {
    if (area && pen) {
      absl::StrAppend(&path, "V", Num(frame.base()), "H", Num(first_x), "Z");
    }
    pen = false;
  };
  for (const size_t i : Downsample(series.y, points)) {
    if (!std::isfinite(series.y[i])) {
      close();
      continue;
    }
    const double x = frame.X(series.x[i]);
    absl::StrAppend(&path, pen ? "L" : "M", Num(x), " ", Num(frame.Y(series.y[i])));
    if (!pen) first_x = x;
    last_x = x;
    pen = true;
  }
  // A single point has no length; a short dash shows it.
  if (!area && pen && first_x == last_x) absl::StrAppend(&path, "h2");
  close();
  absl::StrAppend(&svg, "<path class=\"", area ? "area " : "line ", series.style, "\" d=\"", path,
                  "\"/>");
}

void DrawBand(const ChartSeries& series, const Frame& frame, std::string& svg) {
  std::string path;
  for (size_t i = 0; i < series.x.size(); ++i) {
    absl::StrAppend(&path, i == 0 ? "M" : "L", Num(frame.X(series.x[i])), " ",
                    Num(frame.Y(series.y[i])));
  }
  for (size_t i = series.x.size(); i-- > 0;) {
    absl::StrAppend(&path, "L", Num(frame.X(series.x[i])), " ", Num(frame.Y(series.y2[i])));
  }
  absl::StrAppend(&svg, "<path class=\"area ", series.style, "\" d=\"", path, "Z\"/>");
}

// The mean of each piece: extremes of a position that flips often would fill the picture.
void DrawSignedArea(const ChartSeries& series, const Frame& frame, size_t points,
                    std::string& svg) {
  const size_t n = series.y.size();
  const size_t pieces = std::min(n, points);
  std::string above, below;
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t from = piece * n / pieces;
    const size_t to = (piece + 1) * n / pieces;
    double positive = 0, negative = 0;
    for (size_t i = from; i < to; ++i) {
      (series.y[i] > 0 ? positive : negative) += series.y[i];
    }
    const double x1 = frame.X(series.x[from]);
    const double x2 = to < n ? frame.X(series.x[to]) : frame.right();
    const auto count = static_cast<double>(to - from);
    for (auto [path, value] : {std::pair(&above, positive), std::pair(&below, negative)}) {
      if (value == 0) continue;
      absl::StrAppend(path, "M", Num(x1), " ", Num(frame.base()), "V", Num(frame.Y(value / count)),
                      "H", Num(x2), "V", Num(frame.base()), "Z");
    }
  }
  absl::StrAppend(&svg, "<path class=\"area long\" d=\"", above,
                  "\"/><path class=\"area short\" d=\"", below, "\"/>");
}

void DrawBars(const ChartSeries& series, const Frame& frame, std::string& svg) {
  const double width = std::max(frame.bin_width() * 0.9, 0.5);
  std::string path;
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (series.y[i] == 0) continue;
    absl::StrAppend(&path, "M", Num(frame.X(series.x[i]) - width / 2), " ", Num(frame.base()), "V",
                    Num(frame.Y(series.y[i])), "h", Num(width), "V", Num(frame.base()), "Z");
  }
  absl::StrAppend(&svg, "<path class=\"bars ", series.style, "\" d=\"", path, "\"/>");
}

void DrawMarkers(const ChartSeries& series, const Frame& frame, std::string& svg) {
  std::string path;
  const double size = frame.narrow() ? 3 : 4;
  for (size_t i = 0; i < series.x.size(); ++i) {
    const double x = frame.X(series.x[i]);
    const double y = frame.Y(series.y[i]);
    const std::string s = Num(size), twice = Num(2 * size);
    if (series.mark == Mark::kUp) {
      absl::StrAppend(&path, "M", Num(x), " ", Num(y + 3), "l", s, " ", twice, "h-", twice, "Z");
    } else if (series.mark == Mark::kDown) {
      absl::StrAppend(&path, "M", Num(x), " ", Num(y - 3), "l", s, " -", twice, "h-", twice, "Z");
    } else {
      absl::StrAppend(&path, "M", Num(x - size), " ", Num(y - size), "l", twice, " ", twice, "m0 -",
                      twice, "l-", twice, " ", twice);
    }
  }
  absl::StrAppend(&svg, "<path class=\"", series.mark == Mark::kCross ? "line " : "mark ",
                  series.style, "\" d=\"", path, "\"/>");
}

void DrawLegendEntry(const ChartSeries& series, std::string& svg) {
  const bool filled = series.mark != Mark::kLine && series.mark != Mark::kCross;
  const char* kind = series.mark == Mark::kBand ? "area " : filled ? "mark " : "line ";
  const char* path = "";
  switch (series.mark) {
    case Mark::kLine:
      path = "0 8.5h16";
      break;
    case Mark::kUp:
      path = "10 4l5 9h-10Z";
      break;
    case Mark::kDown:
      path = "10 13l5 -9h-10Z";
      break;
    case Mark::kCross:
      path = "6 4.5l8 8m0 -8l-8 8";
      break;
    case Mark::kArea:
    case Mark::kBand:
    case Mark::kSignedArea:
    case Mark::kBars:
      path = "4 4h10v9h-10Z";
      break;
  }
  absl::StrAppend(&svg, "<path class=\"", kind, series.style, "\" d=\"M", path,
                  "\"/><text class=\"legend\" x=\"20\" y=\"12\">", EscapeMarkup(series.name),
                  "</text>");
}

// In the top margin, right-aligned and read from the left.
void DrawLegend(const Chart& chart, const Frame& frame, std::string& svg) {
  double y = 0;
  for (const auto& row : LegendRows(chart, frame.right() - kLegendLeft)) {
    double width = 0;
    for (const ChartSeries* series : row) width += LegendWidth(*series);
    double x = std::max(frame.right() - width, frame.narrow() ? kLegendLeft : frame.left());
    for (const ChartSeries* series : row) {
      absl::StrAppend(&svg, "<g transform=\"translate(", Num(x), " ", Num(y), ")\">");
      DrawLegendEntry(*series, svg);
      svg += "</g>";
      x += LegendWidth(*series);
    }
    y += kLegendRow;
  }
}

}  // namespace

std::vector<size_t> Downsample(const std::vector<double>& y, size_t limit) {
  const size_t n = y.size();
  std::vector<size_t> kept;
  if (n <= std::max<size_t>(limit, 4)) {
    for (size_t i = 0; i < n; ++i) kept.push_back(i);
    return kept;
  }
  const size_t pieces = std::max<size_t>(limit / 2, 2);
  kept.push_back(0);
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t from = piece * n / pieces;
    const size_t to = (piece + 1) * n / pieces;
    size_t low = from, high = from, gap = to;
    for (size_t i = from; i < to; ++i) {
      if (!std::isfinite(y[i])) {
        gap = i;
        continue;
      }
      if (!std::isfinite(y[low]) || y[i] < y[low]) low = i;
      if (!std::isfinite(y[high]) || y[i] > y[high]) high = i;
    }
    std::array<size_t, 3> chosen = {low, high, gap};
    std::sort(chosen.begin(), chosen.end());
    for (const size_t i : chosen) {
      if (i > kept.back() && i < to) kept.push_back(i);
    }
  }
  if (kept.back() != n - 1) kept.push_back(n - 1);
  return kept;
}

std::string RenderChart(const Chart& chart, int width, size_t points) {
  const Frame frame(chart, width);
  if (frame.empty()) return "<p class=\"note\">No data for this chart.</p>\n";
  std::string svg =
      absl::StrCat("<svg class=\"", width == kNarrow ? "narrow" : "wide",
                   "\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ",
                   chart.height, "\" role=\"img\" aria-label=\"", EscapeMarkup(chart.title), "\">");
  frame.Draw(svg);
  for (const ChartSeries& series : chart.series) {
    if (series.x.empty()) continue;
    switch (series.mark) {
      case Mark::kLine:
      case Mark::kArea:
        DrawLine(series, frame, points, svg);
        break;
      case Mark::kSignedArea:
        DrawSignedArea(series, frame, points, svg);
        break;
      case Mark::kBand:
        DrawBand(series, frame, svg);
        break;
      case Mark::kBars:
        DrawBars(series, frame, svg);
        break;
      case Mark::kUp:
      case Mark::kDown:
      case Mark::kCross:
        DrawMarkers(series, frame, svg);
        break;
    }
  }
  DrawLegend(chart, frame, svg);
  svg += "</svg>\n";
  return svg;
}

std::string RenderResponsive(const Chart& chart, bool half) {
  std::string wide = RenderChart(chart, half ? kHalf : kWide, kWidePoints);
  if (wide.starts_with("<p")) return wide;
  return wide + RenderChart(chart, kNarrow, kNarrowPoints);
}

}  // namespace vixen::tool
