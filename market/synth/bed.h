// SPDX-License-Identifier: Apache-2.0
// Synthetic markets ("beds") whose best policy is known. A bed moves a level x; positions are −1,
// 0, 1; a step earns p_t·(x_{t+1} − x_t) − c·|p_t − p_{t−1}|. docs/testbed.md describes each of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "market/synth/noise.h"

namespace vixen::market {

// One unbroken stretch of a bed.
struct BedPath {
  std::vector<double> level;    // x_t, [bars]
  std::vector<float> signals;   // [bars, signals], what a policy may see at bar t
  std::vector<uint32_t> state;  // [bars], the state of DecisionChain that bar t is in
};

// The bed as a finite decision problem: what its optimum is computed from.
struct DecisionChain {
  // Probabilities of the next states first, first + 1, …; all others are 0.
  struct Row {
    uint32_t first = 0;
    std::vector<double> probability;
  };
  std::vector<double> gain;  // [states], expected x_{t+1} − x_t
  std::vector<Row> next;     // [states]
};

struct BedTraits {
  std::string name;
  double cost = 0;         // c, bed units per unit of position traded
  double cost_rate = 0;    // the same as a share of the traded value
  double price_scale = 0;  // k: price = 100·exp(k·x)
  std::vector<std::string> signals;
  // Barriers of a position; by default out of reach.
  double profit_target_bps = 1e6, stop_loss_bps = 1e6;
  uint32_t max_holding_bars = 1'000'000;
};

class Bed {
 public:
  explicit Bed(BedTraits traits) : traits_(std::move(traits)) {}
  virtual ~Bed() = default;

  const BedTraits& traits() const { return traits_; }
  virtual BedPath Walk(const Noise& noise, size_t bars) const = 0;
  virtual DecisionChain Chain() const = 0;

 private:
  BedTraits traits_;
};

struct BedOptions {
  std::optional<double> rho;                       // b2: autocorrelation of the level, default 0.9
  std::optional<double> cost;                      // c; default of each bed
  std::optional<double> drift_bps = std::nullopt;  // b7: basis points a bar, default 0
  std::optional<uint32_t> max_holding_bars = std::nullopt;  // b7: default none
};

// Names of the beds that exist, in order.
const std::vector<std::string>& BedNames();

// Usage error for an unknown name, an option that the bed does not have, or a value out of range.
absl::StatusOr<std::unique_ptr<Bed>> MakeBed(std::string_view name, const BedOptions& options);

}  // namespace vixen::market
