// SPDX-License-Identifier: Apache-2.0
// vixen score: a policy against the known optimum of a synthetic market.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "nlohmann/json.hpp"
#include "tool/command.h"
#include "tool/format.h"
#include "tool/synth/bed_flags.h"
#include "tool/synth/score.h"

namespace vixen::tool {
namespace {

struct ScoreFlags {
  BedFlags bed;
  std::string weights;
  uint32_t episodes = 256;
  uint32_t steps = 1000;
  bool json = false;
};

constexpr uint32_t kMostSize = 65'536;

absl::Status CheckSize(const char* flag, uint32_t value) {
  if (value >= 1 && value <= kMostSize) return absl::OkStatus();
  return base::UsageError(base::StrCat(flag, " = ", value, ": outside 1 … ", kMostSize));
}

nlohmann::json ToJson(const PolicyRecord& record) {
  return {{"reward", record.reward},
          {"turnover", record.turnover},
          {"hold_flat_share", record.hold_flat_share},
          {"hold_in_position_share", record.hold_in_position_share}};
}

void Print(const ScoreFlags& flags, const market::BedTraits& traits, const BedScore& score) {
  if (flags.json) {
    const nlohmann::json json = {{"bed", traits.name},
                                 {"cost", traits.cost},
                                 {"score", score.score},
                                 {"agent", ToJson(score.agent)},
                                 {"optimal", ToJson(score.optimal)},
                                 {"optimum", score.optimum},
                                 {"distractors", score.distractors},
                                 {"steps", score.steps},
                                 {"weights", flags.weights}};
    std::cout << json.dump() << "\n";
    return;
  }
  const auto line = [](const char* what, const std::string& agent, const std::string& optimal) {
    std::cout << absl::StrFormat("  %-18s %12s %12s\n", what, agent, optimal);
  };
  std::cout << absl::StrFormat("bed %s, cost %g: score %.4f over %s steps\n", traits.name,
                               traits.cost, score.score, Count(score.steps));
  line("", "policy", "best policy");
  line("reward a step", absl::StrFormat("%.5f", score.agent.reward),
       absl::StrFormat("%.5f", score.optimal.reward));
  line("turnover a step", absl::StrFormat("%.4f", score.agent.turnover),
       absl::StrFormat("%.4f", score.optimal.turnover));
  line("held flat", Percent(score.agent.hold_flat_share), Percent(score.optimal.hold_flat_share));
  line("held a position", Percent(score.agent.hold_in_position_share),
       Percent(score.optimal.hold_in_position_share));
  std::cout << absl::StrFormat("  expected of the best policy: %.5f a step\n", score.optimum);
}

absl::Status RunBarriers(const ScoreFlags& flags, const market::Bed& bed) {
  if (!flags.weights.empty()) {
    return base::UsageError("--weights: bed b7 checks the barriers, no policy takes part");
  }
  VIXEN_ASSIGN_OR_RETURN(const BarrierOdds odds, MeasureBarriers(bed, flags.episodes, flags.steps));
  if (flags.json) {
    const nlohmann::json json = {{"bed", bed.traits().name},    {"profit", odds.profit},
                                 {"stop", odds.stop},           {"time", odds.time},
                                 {"mean_bars", odds.mean_bars}, {"results", odds.results}};
    std::cout << json.dump() << "\n";
    return absl::OkStatus();
  }
  std::cout << absl::StrFormat(
      "bed b7: of %s positions %.4f reached the profit barrier, %.4f the stop, %.4f the time "
      "limit, after %.1f bars\n",
      Count(odds.results), odds.profit, odds.stop, odds.time, odds.mean_bars);
  return absl::OkStatus();
}

absl::Status RunScore(const ScoreFlags& flags) {
  VIXEN_RETURN_IF_ERROR(CheckSize("--episodes", flags.episodes));
  VIXEN_RETURN_IF_ERROR(CheckSize("--steps", flags.steps));
  VIXEN_ASSIGN_OR_RETURN(const auto bed, market::MakeBed(flags.bed.name, flags.bed.options));
  if (bed->traits().name == "b7") return RunBarriers(flags, *bed);
  if (flags.weights.empty()) {
    return base::UsageError(base::StrCat("bed ", bed->traits().name, " needs --weights"));
  }
  VIXEN_ASSIGN_OR_RETURN(const kernels::PolicyWeights weights,
                         kernels::LoadPolicyWeights(flags.weights));
  VIXEN_ASSIGN_OR_RETURN(const BedScore score,
                         ScorePolicy(*bed, weights, flags.episodes, flags.steps));
  Print(flags, bed->traits(), score);
  return absl::OkStatus();
}

}  // namespace

void AddScore(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand(
      "score", "how much of a synthetic market's optimum a policy earns on unseen noise");
  AddBedFlags(*command, flags->bed);
  command->add_option("--weights", flags->weights, "weights file or bundle; not with b7");
  command->add_option("--episodes", flags->episodes, "evaluation episodes")->capture_default_str();
  command->add_option("--steps", flags->steps, "steps an episode")->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON object");
  command->callback([&selected, flags] { selected = [flags] { return RunScore(*flags); }; });
}

}  // namespace vixen::tool
