// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "market/synth/bed.h"

namespace vixen::market {

// An evenly spaced grid −limit … limit that stands for a real number in a DecisionChain: each point
// for the cell around it, the outermost ones for everything beyond.
struct Grid {
  uint32_t points;
  double limit;

  double step() const { return 2 * limit / (points - 1); }
  double At(uint32_t index) const { return -limit + step() * index; }
  uint32_t Nearest(double value) const;
  // Adds `weight` times the probabilities that N(mean, deviation²) gives the cells.
  void AddNormal(double mean, double deviation, double weight, DecisionChain::Row& row) const;
};

}  // namespace vixen::market
