// SPDX-License-Identifier: Apache-2.0
// vixen inspect: what is in a file, or what an actor does.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "base/exit_code.h"
#include "base/status_macros.h"
#include "proto/config/config_flags.h"
#include "tool/command.h"
#include "tool/inspect/describe.h"

namespace vixen::tool {
namespace {

struct InspectFlags {
  std::string file;
  std::string actor;
  std::string learner;
  bool json = false;
  v1::TlsSettings tls;
  std::unique_ptr<config::ConfigFlags> config;
};

absl::StatusOr<Json> Describe(const InspectFlags& flags) {
  if (!flags.actor.empty()) return DescribeActor(flags.actor, flags.tls);
  if (!flags.learner.empty()) return DescribeLearner(flags.learner);
  std::error_code ignored;
  if (std::filesystem::is_directory(flags.file, ignored)) return DescribeCheckpoint(flags.file);
  return DescribeFile(flags.file);
}

absl::Status RunInspect(InspectFlags& flags) {
  const int given = static_cast<int>(!flags.file.empty()) + static_cast<int>(!flags.actor.empty()) +
                    static_cast<int>(!flags.learner.empty());
  if (given != 1) {
    return base::UsageError("give either a file, --actor HOST:PORT or --learner HOST:PORT");
  }
  VIXEN_RETURN_IF_ERROR(flags.config->Apply());
  VIXEN_ASSIGN_OR_RETURN(const Json description, Describe(flags));
  if (flags.json) {
    std::cout << description.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    std::cout << InspectionText(description);
  }
  return absl::OkStatus();
}

}  // namespace

void AddInspect(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command = app.add_subcommand(
      "inspect", "what is in a file, or the state and balance sheets of an actor or a learner");
  command->add_option(
      "file", flags->file,
      "dataset, weights, recorded batch, other tensor file, or a checkpoint's folder");
  command->add_option("--actor", flags->actor, "HOST:PORT of an actor");
  command->add_option("--learner", flags->learner, "HOST:PORT of a learner's listen");
  command->add_flag("--json", flags->json, "as JSON on stdout");
  flags->config =
      std::make_unique<config::ConfigFlags>(*command, flags->tls, config::ConfigFlags::File::kNone);
  command->callback([flags, &selected] { selected = [flags] { return RunInspect(*flags); }; });
}

}  // namespace vixen::tool
