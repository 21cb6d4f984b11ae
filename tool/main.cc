// SPDX-License-Identifier: Apache-2.0
// The `vixen` command: what each of its commands does is in the folder of that command.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "base/exit_code.h"
#include "base/str_cat.h"
#include "base/version.h"
#include "proto/config/command_line.h"
#include "tool/command.h"

namespace vixen::tool {
namespace {

// Shown under the command's help.
constexpr std::pair<const char*, const char*> kExamples[] = {
    {"import", "vixen import csv bars.csv --out bars.safetensors --split 0.8 --embargo 100"},
    {"synth", "vixen synth b1 --out b1.safetensors --seed 1"},
    {"score", "vixen score b1 --weights run/weights.safetensors"},
    {"inspect", "vixen inspect bars.safetensors"},
    {"verify", "vixen verify --golden tests/golden --executor cpu"},
    {"collect", "vixen collect --actor 127.0.0.1:50051 --launches 4 --summary"},
    {"audit",
     "vixen audit batches/*.safetensors --data bars.safetensors --weights out/run1/archive"},
    {"config",
     "vixen config print --actor --preset recommended > actor.textproto\n"
     "  vixen config check actor.textproto --data bars.safetensors"},
    {"eval",
     "vixen eval --data bars.safetensors --weights run/weights.safetensors --out eval.json"},
    {"report", "vixen report eval.json --out report.html"},
    {"bench", "vixen bench kernel --json kernel.json"},
    {"doctor", "vixen doctor"},
    {"completion", "source <(vixen completion bash)     # in ~/.bashrc"},
    {"log-level", "vixen log-level debug --actor 127.0.0.1:50051"},
    {"drain", "vixen drain --actor 127.0.0.1:50051"},
};

void AddExamples(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (const auto& [name, example] : kExamples) {
      if (command->get_name() == name) command->footer(base::StrCat("Example:\n  ", example, "\n"));
    }
  }
}

int Run(int argc, char** argv) {
  CLI::App app("Experience collection for reinforcement learning on market bars", "vixen");
  app.set_version_flag("--version", base::StrCat("vixen ", base::Version()));
  app.require_subcommand(1);
  app.footer("vixen COMMAND --help shows the flags of a command.\n");

  Selected selected;
  AddImport(app, selected);
  AddSynth(app, selected);
  AddScore(app, selected);
  AddInspect(app, selected);
  AddVerify(app, selected);
  AddCollect(app, selected);
  AddAudit(app, selected);
  AddConfig(app, selected);
  AddEval(app, selected);
  AddReport(app, selected);
  AddBench(app, selected);
  AddDoctor(app, selected);
  AddCompletion(app, selected);
  AddAdmin(app, selected);
  AddExamples(app);

  if (const auto exit_code = config::ParseCommandLine(app, argc, argv, "vixen")) return *exit_code;
  return base::ReportStatus("vixen", selected());
}

}  // namespace
}  // namespace vixen::tool

int main(int argc, char** argv) { return vixen::tool::Run(argc, argv); }
