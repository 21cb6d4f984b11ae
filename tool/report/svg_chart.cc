// SPDX-License-Identifier: Apache-2.0
#include "tool/report/svg_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tool/format.h"
#include "tool/report/svg_frame.h"

namespace vixen::tool {
namespace {

constexpr int kWide = kWideChart;
constexpr int kHalf = 500;
constexpr int kNarrow = 380;
// The lowest and highest of each pixel's values: more points cannot be seen.
constexpr size_t kWidePoints = 2 * kWide;
constexpr size_t kNarrowPoints = 2 * kNarrow;

void DrawLine(const ChartSeries& series, const ChartFrame& frame, size_t points, std::string& svg) {
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

void DrawBand(const ChartSeries& series, const ChartFrame& frame, std::string& svg) {
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
void DrawSignedArea(const ChartSeries& series, const ChartFrame& frame, size_t points,
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

void DrawBars(const ChartSeries& series, const ChartFrame& frame, std::string& svg) {
  const double width = std::max(frame.bin_width() * 0.9, 0.5);
  std::string path;
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (series.y[i] == 0) continue;
    absl::StrAppend(&path, "M", Num(frame.X(series.x[i]) - width / 2), " ", Num(frame.base()), "V",
                    Num(frame.Y(series.y[i])), "h", Num(width), "V", Num(frame.base()), "Z");
  }
  absl::StrAppend(&svg, "<path class=\"bars ", series.style, "\" d=\"", path, "\"/>");
}

void DrawMarkers(const ChartSeries& series, const ChartFrame& frame, std::string& svg) {
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
void DrawLegend(const Chart& chart, const ChartFrame& frame, std::string& svg) {
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
  const ChartFrame frame(chart, width);
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
