// SPDX-License-Identifier: Apache-2.0
// vixen config: the effective configuration as text, and what in a file cannot work.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/command_line.h"
#include "proto/config/config_check.h"
#include "proto/config/config_file.h"
#include "proto/config/config_flags.h"
#include "proto/config/settings.h"
#include "tool/command.h"
#include "tool/config/reward_sample.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {
namespace {

using base::StrCat;
using google::protobuf::Message;

std::unique_ptr<Message> NewConfig(bool learner) {
  if (learner) return std::make_unique<v1::LearnerConfig>();
  return std::make_unique<v1::ActorConfig>();
}

// Takes `flag` out of the arguments; false when it is not there.
bool Take(std::vector<std::string>& arguments, const std::string& flag) {
  const auto found = std::find(arguments.begin(), arguments.end(), flag);
  if (found == arguments.end()) return false;
  arguments.erase(found);
  return true;
}

// Which flags there are depends on --actor or --learner, so `print` parses its arguments itself.
// For a learner --actor is the setting of that name.
absl::Status RunPrint(std::vector<std::string> arguments) {
  const bool learner = Take(arguments, "--learner");
  if (!learner) Take(arguments, "--actor");
  const std::unique_ptr<Message> config = NewConfig(learner);
  CLI::App app(
      "print the effective configuration of vixen-actor (--actor, assumed) or vixen-learner "
      "(--learner): presets, defaults, --config FILE and flags put together",
      "vixen config print");
  bool comments = false;
  app.add_flag("--comments", comments, "with meaning and range of each setting");
  app.footer(
      "Examples:\n  vixen config print --actor --preset recommended --comments > actor.textproto\n"
      "  vixen config print --learner --comments > learner.textproto\n");
  config::ConfigFlags flags(app, *config);
  std::string text;
  VIXEN_RETURN_IF_ERROR(config::ParseArguments(app, std::move(arguments), text));
  if (text.empty()) {
    VIXEN_RETURN_IF_ERROR(flags.Apply());
    text = config::EffectiveText(*config, comments);
  }
  std::cout << text;
  return absl::OkStatus();
}

struct CheckFlags {
  std::string file;
  std::string data;
  bool actor = false;
  bool learner = false;
};

struct Loaded {
  std::unique_ptr<Message> config;
  config::Origins origins;
};

absl::StatusOr<Loaded> Load(const std::string& file, bool learner) {
  Loaded loaded{NewConfig(learner), {}};
  VIXEN_ASSIGN_OR_RETURN(loaded.origins, config::ReadConfigFile(file, *loaded.config));
  return loaded;
}

// How far the parser came and whether it knows better: the numbers in "FILE:LINE:COLUMN: …".
struct Progress {
  int line = 0;
  int column = 0;
  bool knows_better = false;
};

Progress ProgressOf(const absl::Status& status, const std::string& file) {
  Progress progress;
  absl::string_view text = status.message();
  if (!absl::ConsumePrefix(&text, StrCat(file, ":"))) return progress;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 2));
  if (parts.size() < 3 || !absl::SimpleAtoi(parts[0], &progress.line) ||
      !absl::SimpleAtoi(parts[1], &progress.column)) {
    return {};
  }
  progress.knows_better =
      absl::StrContains(parts[2], "did you mean") || absl::StrContains(parts[2], "it belongs");
  return progress;
}

// Without --actor or --learner: what the file parses as. Where it is neither, the one whose
// settings were understood further is meant, or the one that knows what was meant; else both errors
// stand.
absl::StatusOr<Loaded> LoadEither(const CheckFlags& flags) {
  if (flags.actor || flags.learner) return Load(flags.file, flags.learner);
  absl::StatusOr<Loaded> actor = Load(flags.file, false);
  if (actor.ok()) return actor;
  absl::StatusOr<Loaded> learner = Load(flags.file, true);
  if (learner.ok()) return learner;
  if (actor.status().message() == learner.status().message()) return actor.status();
  const auto order = [](const Progress& p) { return std::tie(p.line, p.column, p.knows_better); };
  const Progress as_actor = ProgressOf(actor.status(), flags.file);
  const Progress as_learner = ProgressOf(learner.status(), flags.file);
  if (order(as_actor) > order(as_learner)) return actor.status();
  if (order(as_learner) > order(as_actor)) return learner.status();
  return base::UsageError(StrCat("neither an actor's configuration (", actor.status().message(),
                                 ") nor a learner's (", learner.status().message(),
                                 "); --actor or --learner says which is meant"));
}

// The rules on real bars: nothing here is a fault, but much of it explains a run that learns
// nothing.
absl::Status CheckOnData(const CheckFlags& flags, const Message& config) {
  const auto* actor = dynamic_cast<const v1::ActorConfig*>(&config);
  if (actor == nullptr) {
    return base::UsageError(StrCat(flags.file, " is a learner's configuration, and --data ",
                                   flags.data, " is judged by an actor's"));
  }
  const v1::EnvironmentSettings environment = config::EffectiveEnvironment(actor->environment());
  const absl::StatusOr<RewardSample> sample = SampleRewards(flags.data, environment);
  if (!sample.ok()) return base::UsageError(std::string(sample.status().message()));
  std::cout << SampleText(*sample);
  for (const std::string& warning : SampleWarnings(*sample, environment)) {
    std::cout << "warning: " << warning << "\n";
  }
  return absl::OkStatus();
}

absl::Status RunCheck(const CheckFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const Loaded loaded, LoadEither(flags));
  const std::vector<config::Fault> faults = config::FindFaults(*loaded.config);
  const std::string name = loaded.config->GetDescriptor()->name();
  if (faults.empty()) {
    std::cout << flags.file << ": a working " << name << "\n";
    return flags.data.empty() ? absl::OkStatus() : CheckOnData(flags, *loaded.config);
  }
  for (const config::Fault& fault : faults) {
    std::cout << config::FaultText(fault, loaded.origins) << "\n";
  }
  return base::UsageError(
      StrCat(flags.file, ": ", name, " cannot work: ", faults.front().message,
             faults.size() > 1 ? StrCat(" (and ", faults.size() - 1, " more)") : ""));
}

}  // namespace

void AddConfig(CLI::App& app, Selected& selected) {
  CLI::App* command = app.add_subcommand("config", "the effective configuration; what cannot work");
  command->require_subcommand(1);

  CLI::App* print =
      command->add_subcommand("print", "the effective configuration, all defaults filled in");
  print->set_help_flag();
  print->allow_extras();
  print->callback([&selected, print] {
    selected = [arguments = print->remaining()] { return RunPrint(arguments); };
  });

  CLI::App* check =
      command->add_subcommand("check", "a line for each setting of FILE that cannot work");
  auto flags = std::make_shared<CheckFlags>();
  check->add_option("file", flags->file, "textproto as for --config")
      ->required()
      ->type_name("FILE");
  check
      ->add_option("--data", flags->data,
                   "dataset: also predicts the share of the reward's variance by term")
      ->type_name("FILE");
  CLI::Option* actor = check->add_flag("--actor", flags->actor, "FILE is for vixen-actor");
  check->add_flag("--learner", flags->learner, "FILE is for vixen-learner")->excludes(actor);
  check->callback([&selected, flags] { selected = [flags] { return RunCheck(*flags); }; });
}

}  // namespace vixen::tool
