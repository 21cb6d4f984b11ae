// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/str_join.h"
#include "market/synth/bed.h"

namespace vixen::tool {

// Which bed: the flags that `synth` and `score` share.
struct BedFlags {
  std::string name;
  market::BedOptions options;
};

// `flags` must outlive the parsing.
inline void AddBedFlags(CLI::App& command, BedFlags& flags) {
  command.add_option("name", flags.name, "bed: " + absl::StrJoin(market::BedNames(), ", "))
      ->required();
  command.add_option("--rho", flags.options.rho, "b2: autocorrelation of the level (0.9)");
  command.add_option("--cost", flags.options.cost,
                     "of trading one unit, in units of the bed (each bed has its own)");
  command.add_option("--drift_bps", flags.options.drift_bps, "b7: of a bar (0)");
  command.add_option("--max_holding_bars", flags.options.max_holding_bars,
                     "b7: a position's time limit (none)");
}

}  // namespace vixen::tool
