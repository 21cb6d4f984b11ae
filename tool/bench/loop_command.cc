// SPDX-License-Identifier: Apache-2.0
// vixen bench loop: vixen-actor and vixen-learner from beside this program, over loopback.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/status_macros.h"
#include "bench/loop/loop_bench.h"
#include "tool/bench/bench.h"
#include "tool/bench/program_beside.h"
#include "tool/executor_flags.h"

namespace vixen::tool {
namespace {

struct LoopFlags {
  bench::LoopBenchOptions options;
  std::string json;
};

nlohmann::json ToJson(const bench::Shares& shares, double cores) {
  return {{"cores", cores}, {"waiting_share", bench::WaitingShare(shares)}, {"shares", shares}};
}

nlohmann::json ToJson(const bench::LoopBenchOptions& options,
                      const bench::LoopBenchResult& result) {
  return {{"bench", "loop"},
          {"executor", result.executor},
          {"device", result.device},
          {"episodes", options.episodes},
          {"steps", options.steps},
          {"threads", result.threads},
          {"torch_threads", result.torch_threads},
          {"batch_size", options.batch_size},
          {"samples_per_insert", options.samples_per_insert},
          {"seconds", result.seconds},
          {"executor_transitions_per_second", result.executor_transitions_per_second},
          {"transitions_per_second", result.transitions_per_second},
          {"share_of_executor", result.share_of_executor()},
          {"inserted_per_second", result.inserted_per_second},
          {"updates_per_second", result.updates_per_second},
          {"sent_gigabytes_per_second", result.sent_gigabytes_per_second},
          {"actor", ToJson(result.actor, result.actor_cores)},
          {"learner", ToJson(result.learner, result.learner_cores)}};
}

absl::Status RunLoop(LoopFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(flags.options.actor_program, ProgramBeside("vixen-actor"));
  VIXEN_ASSIGN_OR_RETURN(flags.options.learner_program, ProgramBeside("vixen-learner"));
  VIXEN_ASSIGN_OR_RETURN(const bench::LoopBenchResult result, bench::RunLoopBench(flags.options));
  std::cout << bench::DescribeLoopBench(flags.options, result);
  if (flags.json.empty()) return absl::OkStatus();
  return base::WriteFileAtomically(flags.json, ToJson(flags.options, result).dump(2) + "\n");
}

}  // namespace

void AddLoopBench(CLI::App& bench, Selected& selected) {
  auto flags = std::make_shared<LoopFlags>();
  bench::LoopBenchOptions& options = flags->options;
  CLI::App* command =
      bench.add_subcommand("loop", "an actor and a learner on this machine: who waits for whom");
  command->add_option("--dataset", options.dataset, "bars to collect on (bed b2, 51 features)");
  options.executor.kind = kernels::ExecutorKind::kCpu;
  AddExecutorChoice(*command, options.executor);
  command->add_option("--device", options.device, "of the learner: auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--episodes", options.episodes, "N of a launch")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--steps", options.steps, "L of a launch")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "of the CPU executor; 0: half of all")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--torch_threads", options.torch_threads, "of the learner; 0: the other half")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--batch_size", options.batch_size, "rows of an update")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--samples_per_insert", options.samples_per_insert, "of the learner")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--capacity", options.capacity, "of the learner's replay")
      ->check(CLI::Range(1000, 1'000'000'000))
      ->capture_default_str();
  command->add_option("--warm_up", options.warm_up, "seconds after the first update")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  command->add_option("--seconds", options.seconds, "measured")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--actor", options.actor_flags, "more of its settings, as compression=gzip");
  command->add_option("--learner", options.learner_flags, "more of its settings, as n_step=3");
  command->add_option("--json", flags->json, "file for the figures");
  command->callback([flags, &selected] { selected = [flags] { return RunLoop(*flags); }; });
}

}  // namespace vixen::tool
