// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "market/synth/beds.h"
#include "market/synth/grid.h"

namespace vixen::market {
namespace {

constexpr Grid kLevels{401, 5.0};

}  // namespace

MeanReversion::MeanReversion(double rho, double cost)
    : Bed(CostlyTraits("b2", cost, {"level"})), rho_(rho) {}

BedPath MeanReversion::Walk(const Noise& noise, size_t bars) const {
  const double shock = std::sqrt(1 - rho_ * rho_);
  BedPath path;
  double level = noise.Normal(0);
  for (size_t t = 0; t < bars; ++t) {
    path.level.push_back(level);
    path.signals.push_back(static_cast<float>(level));
    path.state.push_back(kLevels.Nearest(level));
    level = rho_ * level + shock * noise.Normal(t + 1);
  }
  return path;
}

DecisionChain MeanReversion::Chain() const {
  const double shock = std::sqrt(1 - rho_ * rho_);
  DecisionChain chain;
  for (uint32_t i = 0; i < kLevels.points; ++i) {
    chain.gain.push_back((rho_ - 1) * kLevels.At(i));
    kLevels.AddNormal(rho_ * kLevels.At(i), shock, 1, chain.next.emplace_back());
  }
  return chain;
}

}  // namespace vixen::market
