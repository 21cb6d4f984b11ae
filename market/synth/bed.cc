// SPDX-License-Identifier: Apache-2.0
#include "market/synth/bed.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "market/synth/beds.h"

namespace vixen::market {
namespace {

constexpr double kDefaultRho = 0.9;
constexpr uint32_t kNoExpiry = 1'000'000;

// c of each bed unless the user gives another.
double DefaultCost(std::string_view name) {
  if (name == "b2") return 0.3;
  if (name == "b3" || name == "b4") return 0.25;
  return 0.1;
}

absl::Status CheckOptions(std::string_view name, const BedOptions& options) {
  if (options.rho && name != "b2") {
    return base::UsageError(
        base::StrCat("--rho = ", *options.rho, ": only bed b2 has it, not ", name));
  }
  if (options.rho && !(*options.rho >= 0 && *options.rho <= 0.999)) {
    return base::UsageError(base::StrCat("--rho = ", *options.rho, ": outside 0 … 0.999"));
  }
  if (options.cost && (name == "b0" || name == "b7")) {
    return base::UsageError(
        base::StrCat("--cost = ", *options.cost, ": bed ", name, " has no cost"));
  }
  if ((options.drift_bps || options.max_holding_bars) && name != "b7") {
    return base::UsageError(base::StrCat(options.drift_bps ? "--drift_bps" : "--max_holding_bars",
                                         ": only bed b7 has it, not ", name));
  }
  if (options.drift_bps && !(*options.drift_bps >= -10 && *options.drift_bps <= 10)) {
    return base::UsageError(
        base::StrCat("--drift_bps = ", *options.drift_bps, ": outside -10 … 10"));
  }
  if (options.max_holding_bars &&
      !(*options.max_holding_bars >= 1 && *options.max_holding_bars <= kNoExpiry)) {
    return base::UsageError(base::StrCat("--max_holding_bars = ", *options.max_holding_bars,
                                         ": outside 1 … ", kNoExpiry));
  }
  if (options.cost && !(*options.cost >= 0.01 && *options.cost <= 10)) {
    return base::UsageError(base::StrCat("--cost = ", *options.cost, ": outside 0.01 … 10"));
  }
  return absl::OkStatus();
}

}  // namespace

BedTraits CostlyTraits(std::string name, double cost, std::vector<std::string> signals) {
  return {std::move(name), cost, kCostRate, kCostRate / cost, std::move(signals)};
}

const std::vector<std::string>& BedNames() {
  static const std::vector<std::string> kNames = {"b0", "b1", "b2", "b3", "b4", "b5", "b7"};
  return kNames;
}

absl::StatusOr<std::unique_ptr<Bed>> MakeBed(std::string_view name, const BedOptions& options) {
  const auto& names = BedNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return base::UsageError(
        base::StrCat("no synthetic market \"", name, "\"; there are ", absl::StrJoin(names, ", ")));
  }
  VIXEN_RETURN_IF_ERROR(CheckOptions(name, options));
  const double cost = options.cost.value_or(DefaultCost(name));
  if (name == "b0") return std::make_unique<SignalBandit>();
  if (name == "b1") return std::make_unique<SineMarket>(cost);
  if (name == "b2") return std::make_unique<MeanReversion>(options.rho.value_or(kDefaultRho), cost);
  if (name == "b3") return std::make_unique<RegimeMarket>(RegimeMarket::Signal::kBelief, cost);
  if (name == "b4") return std::make_unique<RegimeMarket>(RegimeMarket::Signal::kMoves, cost);
  if (name == "b7") {
    return std::make_unique<BarrierWalk>(options.drift_bps.value_or(0.0),
                                         options.max_holding_bars.value_or(kNoExpiry));
  }
  return std::make_unique<RandomWalk>(cost);
}

}  // namespace vixen::market
