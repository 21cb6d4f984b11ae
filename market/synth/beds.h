// SPDX-License-Identifier: Apache-2.0
// The beds themselves; MakeBed (bed.h) is the way to get one.
#pragma once

#include "market/synth/bed.h"

namespace vixen::market {

// The all-in cost of a trade in every bed that has one: 2 basis points of the traded value.
inline constexpr double kCostRate = 2e-4;

// Traits of a bed with trading cost `cost` > 0: k = rate/c makes the market's cost that of the bed.
BedTraits CostlyTraits(std::string name, double cost, std::vector<std::string> signals);

// b0: s ∈ {−1, 0, 1} at random, x moves by 0.2·s + N(0, 1); no cost.
class SignalBandit : public Bed {
 public:
  SignalBandit();
  BedPath Walk(const Noise& noise, size_t bars) const override;
  DecisionChain Chain() const override;
};

// b1: x = sin(2π·t/32) from a random phase.
class SineMarket : public Bed {
 public:
  explicit SineMarket(double cost);
  BedPath Walk(const Noise& noise, size_t bars) const override;
  DecisionChain Chain() const override;
};

// b2: x' = ρx + √(1 − ρ²)·N(0, 1), an Ornstein-Uhlenbeck level of unit deviation.
class MeanReversion : public Bed {
 public:
  MeanReversion(double rho, double cost);
  BedPath Walk(const Noise& noise, size_t bars) const override;
  DecisionChain Chain() const override;

 private:
  double rho_;
};

// b3: a hidden regime m = ±1 that flips with probability 0.02; x moves by 0.5·m' + N(0, 1). The
// signal is the belief 2·P(m = 1 | moves) − 1. b4: the same market; the signal is the last 32
// moves.
class RegimeMarket : public Bed {
 public:
  enum class Signal { kBelief, kMoves };
  RegimeMarket(Signal signal, double cost);
  BedPath Walk(const Noise& noise, size_t bars) const override;
  DecisionChain Chain() const override;

 private:
  Signal signal_;
};

// b5: a random walk with unit steps; the signals are its last three moves and say nothing.
class RandomWalk : public Bed {
 public:
  explicit RandomWalk(double cost);
  BedPath Walk(const Noise& noise, size_t bars) const override;
  DecisionChain Chain() const override;
};

// b7: a random walk of 5 basis points a bar with barriers at +50 and −25: what a position reaches
// first is known, so it checks the environment's barriers without learning.
class BarrierWalk : public Bed {
 public:
  BarrierWalk(double drift_bps, uint32_t max_holding_bars);
  BedPath Walk(const Noise& noise, size_t bars) const override;
  DecisionChain Chain() const override;

 private:
  double drift_;  // in standard deviations
};

}  // namespace vixen::market
