// SPDX-License-Identifier: Apache-2.0
// vixen synth: writes a bed as a dataset and prints the configuration of an actor that serves it.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "market/synth/bed.h"
#include "market/synth/bed_dataset.h"
#include "tool/command.h"
#include "tool/format.h"
#include "tool/synth/bed_flags.h"

namespace vixen::tool {
namespace {

struct SynthFlags {
  BedFlags bed;
  std::string out;
  market::BedSeries series;
};

absl::Status RunSynth(const SynthFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const auto bed, market::MakeBed(flags.bed.name, flags.bed.options));
  VIXEN_ASSIGN_OR_RETURN(const auto dataset, market::MakeBedDataset(*bed, flags.series));
  VIXEN_RETURN_IF_ERROR(dataset->Write(flags.out));
  const auto& metadata = dataset->metadata();
  std::cout << "# " << dataset->source() << ": " << Count(dataset->bars()) << " bars, features "
            << absl::StrJoin(dataset->feature_names(), " ") << "\n"
            << "# " << flags.out << "\n"
            << "# best policy: " << metadata.at("bed_optimum") << " a step at cost "
            << metadata.at("bed_cost") << ", in units of the bed\n"
            << "environment {\n"
            << metadata.at("bed_environment") << "}\n";
  return absl::OkStatus();
}

}  // namespace

void AddSynth(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<SynthFlags>();
  CLI::App* command = app.add_subcommand("synth",
                                         "write a synthetic market whose best policy is known; "
                                         "prints the actor's configuration for it");
  AddBedFlags(*command, flags->bed);
  command->add_option("--out", flags->out, "dataset file to write")->required();
  command->add_option("--seed", flags->series.seed, "of the market's noise")->required();
  command->add_option("--bars", flags->series.bars, "length of the series")->capture_default_str();
  command->add_option("--distractors", flags->series.distractors, "feature columns of noise")
      ->capture_default_str();
  command->callback([&selected, flags] { selected = [flags] { return RunSynth(*flags); }; });
}

}  // namespace vixen::tool
