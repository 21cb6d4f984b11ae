// SPDX-License-Identifier: Apache-2.0
// The frame of a chart: scales, axes, and the room that its legend takes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tool/report/axis.h"
#include "tool/report/svg_chart.h"

namespace vixen::tool {

inline constexpr int kWideChart = 1040;
inline constexpr double kLegendLeft = 4;
inline constexpr double kLegendRow = 16;

// "12.3": a tenth of a unit is below what a screen shows.
std::string Num(double value);
// About as wide as the page's fonts draw it at 12 units.
double TextWidth(std::string_view text);
double LegendWidth(const ChartSeries& series);
// The named series in as many rows as `width` asks for. What is drawn last lies on top and is named
// first.
std::vector<std::vector<const ChartSeries*>> LegendRows(const Chart& chart, double width);

struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// From data to picture: where values lie in a chart of `width` units. Borrows the chart.
class ChartFrame {
 public:
  ChartFrame(const Chart& chart, int width);

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

  // Axes, grid and their labels.
  void Draw(std::string& svg) const;

 private:
  const Chart& chart_;
  const int width_;
  const bool narrow_;
  ValueRange x_;
  ValueRange y_;
  bool log_ = false;
  double bin_ = 0;
  double left_ = 0;
  double extra_legend_ = 0;  // height of its rows beyond the first
  std::vector<Tick> x_ticks_;
  std::vector<Tick> y_ticks_;
};

}  // namespace vixen::tool
