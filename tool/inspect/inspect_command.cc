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
  bool json = false;
  v1::TlsSettings tls;
  std::unique_ptr<config::ConfigFlags> config;
};

absl::Status RunInspect(InspectFlags& flags) {
  if (flags.file.empty() == flags.actor.empty()) {
    return base::UsageError("give either a file or --actor HOST:PORT");
  }
  VIXEN_RETURN_IF_ERROR(flags.config->Apply());
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(flags.file, ignored);
  VIXEN_ASSIGN_OR_RETURN(const Json description, !flags.actor.empty()
                                                     ? DescribeActor(flags.actor, flags.tls)
                                                 : folder ? DescribeCheckpoint(flags.file)
                                                          : DescribeFile(flags.file));
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
  CLI::App* command =
      app.add_subcommand("inspect", "what is in a file, or an actor's state and balance sheets");
  command->add_option(
      "file", flags->file,
      "dataset, weights, recorded batch, other tensor file, or a checkpoint's folder");
  command->add_option("--actor", flags->actor, "HOST:PORT of an actor");
  command->add_flag("--json", flags->json, "as JSON on stdout");
  flags->config =
      std::make_unique<config::ConfigFlags>(*command, flags->tls, config::ConfigFlags::File::kNone);
  command->callback([flags, &selected] { selected = [flags] { return RunInspect(*flags); }; });
}

}  // namespace vixen::tool
