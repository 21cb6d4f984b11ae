// SPDX-License-Identifier: Apache-2.0
#include "market/synth/grid.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vixen::market {
namespace {

double NormalDistribution(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

uint32_t Grid::Nearest(double value) const {
  const double place = std::round((value + limit) / step());
  return static_cast<uint32_t>(std::clamp(place, 0.0, static_cast<double>(points - 1)));
}

void Grid::AddNormal(double mean, double deviation, double weight, DecisionChain::Row& row) const {
  row.probability.resize(points);
  double below = 0;
  for (uint32_t j = 0; j < points; ++j) {
    const double edge = At(j) + step() / 2;
    const double up_to = j + 1 == points ? 1 : NormalDistribution((edge - mean) / deviation);
    row.probability[j] += weight * (up_to - below);
    below = up_to;
  }
}

}  // namespace vixen::market
