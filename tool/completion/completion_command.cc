// SPDX-License-Identifier: Apache-2.0
// vixen completion bash|zsh: commands and flags of the three programs, for the shell.
#include <iostream>
#include <memory>

#include "proto/config/config_flags.h"
#include "tool/command.h"
#include "tool/completion/completion_script.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {
namespace {

// The flags of a program that has no commands: those of its configuration.
template <typename Config>
WordsAfter WordsOfProgram() {
  CLI::App app;
  app.set_version_flag("--version", "");
  Config config;
  const config::ConfigFlags flags(app, config);
  return WordsOf(app);
}

std::string AllScripts(const CLI::App& app) {
  const WordsAfter actor = WordsOfProgram<v1::ActorConfig>();
  WordsAfter tool = WordsOf(app);
  // `config print` parses its flags itself, because they depend on whose configuration it is.
  std::vector<std::string>& print = tool["config print"];
  print = {"--actor", "--learner", "--comments"};
  for (const std::string& flag : actor.at("")) {
    if (flag != "--version") print.push_back(flag);
  }
  return BashScript("vixen", tool) + BashScript("vixen-actor", actor) +
         BashScript("vixen-learner", WordsOfProgram<v1::LearnerConfig>());
}

}  // namespace

void AddCompletion(CLI::App& app, Selected& selected) {
  CLI::App* command = app.add_subcommand(
      "completion", "commands and flags of vixen, vixen-actor and vixen-learner for the shell");
  command->require_subcommand(1);
  const auto print = [&app, &selected](const char* before) {
    selected = [&app, before] {
      std::cout << before << AllScripts(app);
      return absl::OkStatus();
    };
  };
  command->add_subcommand("bash", "for bash 4.2 or later")->callback([print] { print(""); });
  command->add_subcommand("zsh", "for zsh")->callback([print] {
    print("autoload -Uz compinit bashcompinit\ncompinit\nbashcompinit\n");
  });
}

}  // namespace vixen::tool
