// SPDX-License-Identifier: Apache-2.0
#include "market/synth/optimum.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace vixen::market {
namespace {

using Values = std::vector<std::array<double, kPositions>>;  // [states][position]

constexpr double kPrecision = 1e-9;
constexpr double kTie = 1e-9;
constexpr int kMostIterations = 100'000;

// Expected value after a state when the position held is q.
std::array<double, kPositions> Expected(const DecisionChain::Row& row, const Values& values) {
  std::array<double, kPositions> sum{};
  for (size_t j = 0; j < row.probability.size(); ++j) {
    for (int q = 0; q < kPositions; ++q) sum[q] += row.probability[j] * values[row.first + j][q];
  }
  return sum;
}

// Drops probabilities too small to matter, so that iterating over a grid costs its diffusion's
// width.
DecisionChain Trimmed(DecisionChain chain) {
  constexpr double kNegligible = 1e-14;
  for (DecisionChain::Row& row : chain.next) {
    auto& p = row.probability;
    while (p.size() > 1 && p.back() < kNegligible) p.pop_back();
    const auto first =
        std::find_if(p.begin(), p.end(), [](double value) { return value >= kNegligible; });
    row.first += static_cast<uint32_t>(first - p.begin());
    p.erase(p.begin(), first);
  }
  return chain;
}

}  // namespace

std::vector<uint8_t> Optimum::Follow(const BedPath& path) const {
  std::vector<uint8_t> positions;
  uint8_t position = kFlatPosition;
  for (uint32_t state : path.state) positions.push_back(position = policy[state][position]);
  return positions;
}

Optimum SolveOptimum(const DecisionChain& given, double cost) {
  const DecisionChain chain = Trimmed(given);
  const size_t states = chain.gain.size();
  Values values(states, {0, 0, 0}), next(states);
  Optimum optimum;
  optimum.policy.resize(states);
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    double least = 1e300, most = -1e300;
    for (size_t s = 0; s < states; ++s) {
      const std::array<double, kPositions> expected = Expected(chain.next[s], values);
      for (int p = 0; p < kPositions; ++p) {
        const auto worth = [&](int q) {
          return (q - 1) * chain.gain[s] - cost * std::abs(q - p) + expected[q];
        };
        int best = p;
        for (int q = 0; q < kPositions; ++q) {
          if (worth(q) > worth(best) + kTie) best = q;
        }
        const double change = worth(best) - values[s][p];
        least = std::min(least, change);
        most = std::max(most, change);
        // Half a step: a periodic chain would otherwise never settle. The policy stays the same.
        next[s][p] = values[s][p] + change / 2;
        optimum.policy[s][p] = static_cast<uint8_t>(best);
      }
    }
    optimum.reward = (least + most) / 2;
    if (most - least < kPrecision) break;
    const double reference = next[0][kFlatPosition];
    for (auto& value : next) {
      for (double& v : value) v -= reference;
    }
    values.swap(next);
  }
  return optimum;
}

PathReward Evaluate(const BedPath& path, const std::vector<uint8_t>& positions, double cost) {
  PathReward result;
  int previous = kFlatPosition;
  const size_t steps = path.level.size() - 1;
  for (size_t t = 0; t < steps; ++t) {
    const int change = std::abs(positions[t] - previous);
    result.reward += (positions[t] - 1) * (path.level[t + 1] - path.level[t]) - cost * change;
    result.turnover += change;
    previous = positions[t];
  }
  result.reward /= static_cast<double>(steps);
  result.turnover /= static_cast<double>(steps);
  return result;
}

}  // namespace vixen::market
