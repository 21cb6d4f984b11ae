// SPDX-License-Identifier: Apache-2.0
// b0, b1 and b5: the beds whose optimum is plain to see.
#include <cmath>
#include <numbers>

#include "market/synth/beds.h"

namespace vixen::market {
namespace {

constexpr double kBanditDrift = 0.2;
constexpr double kBanditScale = 6.667e-4;
constexpr uint32_t kPeriod = 32;
constexpr size_t kMovesSeen = 3;
constexpr double kBarBps = 5;  // standard deviation of a bar of b7

double Sine(uint64_t phase) {
  return std::sin(2 * std::numbers::pi * static_cast<double>(phase % kPeriod) / kPeriod);
}
double Cosine(uint64_t phase) {
  return std::cos(2 * std::numbers::pi * static_cast<double>(phase % kPeriod) / kPeriod);
}

}  // namespace

SignalBandit::SignalBandit() : Bed({"b0", 0, 0, kBanditScale, {"signal"}}) {}

BedPath SignalBandit::Walk(const Noise& noise, size_t bars) const {
  const Noise moves = noise.Stream(0), signals = noise.Stream(1);
  BedPath path;
  double level = 0;
  for (size_t t = 0; t < bars; ++t) {
    const auto state = static_cast<uint32_t>(3 * signals.Uniform(t));
    const double signal = static_cast<double>(state) - 1;
    path.level.push_back(level);
    path.signals.push_back(static_cast<float>(signal));
    path.state.push_back(state);
    level += kBanditDrift * signal + moves.Normal(t);
  }
  return path;
}

DecisionChain SignalBandit::Chain() const {
  DecisionChain chain;
  for (int signal = -1; signal <= 1; ++signal) {
    chain.gain.push_back(kBanditDrift * signal);
    chain.next.push_back({0, {1.0 / 3, 1.0 / 3, 1.0 / 3}});
  }
  return chain;
}

SineMarket::SineMarket(double cost) : Bed(CostlyTraits("b1", cost, {"sine", "cosine"})) {}

BedPath SineMarket::Walk(const Noise& noise, size_t bars) const {
  const uint64_t first = noise.Bits(0) % kPeriod;
  BedPath path;
  for (size_t t = 0; t < bars; ++t) {
    const uint64_t phase = (first + t) % kPeriod;
    path.level.push_back(Sine(phase));
    path.signals.push_back(static_cast<float>(Sine(phase)));
    path.signals.push_back(static_cast<float>(Cosine(phase)));
    path.state.push_back(static_cast<uint32_t>(phase));
  }
  return path;
}

DecisionChain SineMarket::Chain() const {
  DecisionChain chain;
  for (uint32_t phase = 0; phase < kPeriod; ++phase) {
    chain.gain.push_back(Sine(phase + 1) - Sine(phase));
    chain.next.push_back({(phase + 1) % kPeriod, {1.0}});
  }
  return chain;
}

RandomWalk::RandomWalk(double cost)
    : Bed(CostlyTraits("b5", cost, {"move_0", "move_1", "move_2"})) {}

BedPath RandomWalk::Walk(const Noise& noise, size_t bars) const {
  BedPath path;
  double level = 0;
  // Move i leads to bar i − 2, so that the first bar has seen three moves as well.
  for (size_t t = 0; t < bars; ++t) {
    if (t > 0) level += noise.Normal(t + kMovesSeen - 1);
    path.level.push_back(level);
    for (size_t back = 0; back < kMovesSeen; ++back) {
      path.signals.push_back(static_cast<float>(noise.Normal(t + kMovesSeen - 1 - back)));
    }
    path.state.push_back(0);
  }
  return path;
}

DecisionChain RandomWalk::Chain() const { return {{0.0}, {{0, {1.0}}}}; }

BarrierWalk::BarrierWalk(double drift_bps, uint32_t max_holding_bars)
    : Bed({.name = "b7",
           .price_scale = 1e-4 * kBarBps,
           .signals = {"move"},
           .profit_target_bps = 50,
           .stop_loss_bps = 25,
           .max_holding_bars = max_holding_bars}),
      drift_(drift_bps / kBarBps) {}

BedPath BarrierWalk::Walk(const Noise& noise, size_t bars) const {
  BedPath path;
  double level = 0;
  for (size_t t = 0; t < bars; ++t) {
    const double move = t > 0 ? drift_ + noise.Normal(t) : 0;
    level += move;
    path.level.push_back(level);
    path.signals.push_back(static_cast<float>(move));
    path.state.push_back(0);
  }
  return path;
}

DecisionChain BarrierWalk::Chain() const { return {{drift_}, {{0, {1.0}}}}; }

}  // namespace vixen::market
