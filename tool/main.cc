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

// Shown under the help of the command of that path.
constexpr std::pair<const char*, const char*> kExamples[] = {
    {"import", "vixen import csv bars.csv --out bars.safetensors --split 0.8 --embargo 100"},
    {"import csv",
     "vixen import csv bars.csv --tz UTC --split 0.8 --embargo 60 --out bars.safetensors\n"
     "  vixen import csv 2023.csv 2024.csv --tz America/New_York --session 09:30-16:00 "
     "--warm_up 60 --out sessions.safetensors\n"
     "  vixen import csv kurse.csv --decimal , --columns time=Datum,open=Eröffnung,high=Hoch,"
     "low=Tief,close=Schluss --out kurse.safetensors\n"
     "  vixen import csv minutes.csv --resample 1h --factors splits.csv --missing segment "
     "--out hours.safetensors"},
    {"import npy",
     "vixen import npy bars.npz --split 2024-01-01 --embargo 60 --out bars.safetensors\n"
     "  vixen import npy bars.npz --features_from mine.npz --out own.safetensors"},
    {"import dbn",
     "vixen import dbn glbx-2023.ohlcv-1m.dbn.zst glbx-2024.ohlcv-1m.dbn.zst --split 0.8 "
     "--embargo 60 --out es.safetensors\n"
     "  vixen import dbn mixed.dbn --interval 1h --symbol ESH4 --out esh4.safetensors"},
    {"synth", "vixen synth b1 --out b1.safetensors --seed 1"},
    {"score", "vixen score b1 --weights run/weights.safetensors"},
    {"inspect",
     "vixen inspect bars.safetensors\n"
     "  vixen inspect --actor 127.0.0.1:50051"},
    {"verify", "vixen verify --golden tests/golden --executor cpu"},
    {"collect",
     "vixen collect --actor 127.0.0.1:50051 --launches 4 --summary\n"
     "  vixen collect --data bars.safetensors --weights run/weights.safetensors --launches 4 "
     "--out batches"},
    {"audit",
     "vixen audit batches/*.safetensors --data bars.safetensors --weights out/run1/archive"},
    {"config",
     "vixen config print --actor --preset recommended > actor.textproto\n"
     "  vixen config check actor.textproto --data bars.safetensors"},
    {"config check",
     "vixen config check actor.textproto --data bars.safetensors\n"
     "  vixen config check --learner learner.textproto"},
    {"report",
     "vixen report eval.json --training run/training.jsonl --out report.html\n"
     "  vixen report first.json second.json --out comparison.html"},
    {"bench", "vixen bench kernel --json kernel.json"},
    {"bench kernel", "vixen bench kernel --shapes 128x500 1024x100 --json kernel.json"},
    {"bench learner", "vixen bench learner --batch_size 128 1024 --json learner.json"},
    {"bench loop",
     "vixen bench loop --samples_per_insert 0.2 --json loop.json\n"
     "  vixen bench loop --executor cuda --device cuda --episodes 1024 --batch_size 1024"},
    {"bench replay", "vixen bench replay --rows 1000000 --json replay.json"},
    {"bench stream", "vixen bench stream --rounds 1 --seconds 1.5 --json stream.json"},
    {"doctor", "vixen doctor --data bars.safetensors --listen 127.0.0.1:50051 --out run"},
    {"completion", "source <(vixen completion bash)     # in ~/.bashrc"},
    {"completion bash", "source <(vixen completion bash)     # in ~/.bashrc"},
    {"completion zsh", "source <(vixen completion zsh)     # in ~/.zshrc"},
    {"log-level", "vixen log-level debug --actor 127.0.0.1:50051"},
    {"drain", "vixen drain --actor 127.0.0.1:50051"},
};

void AddExamples(CLI::App& app, const std::string& before = "") {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string path = base::StrCat(before, command->get_name());
    for (const auto& [name, examples] : kExamples) {
      if (path == name) command->footer(base::StrCat("Examples:\n  ", examples, "\n"));
    }
    AddExamples(*command, base::StrCat(path, " "));
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
