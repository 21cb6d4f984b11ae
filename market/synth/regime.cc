// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "market/synth/beds.h"
#include "market/synth/grid.h"

namespace vixen::market {
namespace {

constexpr double kDrift = 0.5;
constexpr double kFlip = 0.02;
constexpr size_t kMovesSeen = 32;
// Moves before the first bar: enough for the belief to forget that it began at one half.
constexpr size_t kHistory = 256;
constexpr Grid kLogOdds{241, 9.0};

double Probability(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }
double LogOdds(double probability) { return std::log(probability / (1 - probability)); }

// P(m' = 1) of the next bar when the belief of this one is `belief`.
double Forecast(double belief) { return belief * (1 - kFlip) + (1 - belief) * kFlip; }

std::vector<std::string> SignalNames(RegimeMarket::Signal signal) {
  if (signal == RegimeMarket::Signal::kBelief) return {"belief"};
  std::vector<std::string> names;
  for (size_t i = 0; i < kMovesSeen; ++i) names.push_back("move_" + std::to_string(i));
  return names;
}

}  // namespace

RegimeMarket::RegimeMarket(Signal signal, double cost)
    : Bed(CostlyTraits(signal == Signal::kBelief ? "b3" : "b4", cost, SignalNames(signal))),
      signal_(signal) {}

BedPath RegimeMarket::Walk(const Noise& noise, size_t bars) const {
  const Noise shocks = noise.Stream(0), flips = noise.Stream(1);
  BedPath path;
  std::vector<double> moves;
  double level = 0, log_odds = 0;
  int regime = flips.Uniform(0) < 0.5 ? -1 : 1;
  for (size_t i = 0; i < kHistory + bars; ++i) {
    if (flips.Uniform(i + 1) < kFlip) regime = -regime;
    const double move = kDrift * regime + shocks.Normal(i);
    log_odds = LogOdds(Forecast(Probability(log_odds))) + 2 * kDrift * move;
    moves.push_back(move);
    if (i < kHistory) continue;
    if (i > kHistory) level += move;
    path.level.push_back(level);
    path.state.push_back(kLogOdds.Nearest(log_odds));
    if (signal_ == Signal::kBelief) {
      path.signals.push_back(static_cast<float>(2 * Probability(log_odds) - 1));
    } else {
      for (size_t back = 0; back < kMovesSeen; ++back)
        path.signals.push_back(static_cast<float>(moves[i - back]));
    }
  }
  return path;
}

DecisionChain RegimeMarket::Chain() const {
  DecisionChain chain;
  for (uint32_t i = 0; i < kLogOdds.points; ++i) {
    const double forecast = Forecast(Probability(kLogOdds.At(i)));
    const double prior = LogOdds(forecast), scale = 2 * kDrift;
    chain.gain.push_back(kDrift * (2 * forecast - 1));
    DecisionChain::Row& row = chain.next.emplace_back();
    kLogOdds.AddNormal(prior + scale * kDrift, scale, forecast, row);
    kLogOdds.AddNormal(prior - scale * kDrift, scale, 1 - forecast, row);
  }
  return chain;
}

}  // namespace vixen::market
