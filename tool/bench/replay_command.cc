// SPDX-License-Identifier: Apache-2.0
// vixen bench replay: rows into the learner's replay, and batches drawn from it.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "bench/learner/replay_bench.h"
#include "tool/bench/bench.h"

namespace vixen::tool {
namespace {

struct ReplayFlags {
  bench::ReplayBenchOptions options;
  std::string json;
};

nlohmann::json ToJson(const bench::ReplayRate& rate) {
  return {{"program", rate.program},
          {"rows_per_second", rate.rows_per_second},
          {"slowest", rate.slowest},
          {"fastest", rate.fastest},
          {"rows_per_cpu_second", rate.rows_per_cpu_second}};
}

nlohmann::json ToJson(const bench::ReplayBenchOptions& options,
                      const std::vector<bench::ReplayBenchRow>& rows) {
  nlohmann::json cases = nlohmann::json::array();
  for (const bench::ReplayBenchRow& row : rows) {
    nlohmann::json of_case = ToJson(row.ours);
    of_case.update({{"case", row.name},
                    {"rows", row.rows},
                    {"batch_size", row.batch_size},
                    {"milliseconds", row.milliseconds()},
                    {"limit", ToJson(row.limit)},
                    {"share_of_limit", row.ours.rows_per_second / row.limit.rows_per_second}});
    if (row.peer.has_value()) {
      of_case["peer"] = ToJson(*row.peer);
      of_case["times_peer"] = row.ours.rows_per_second / row.peer->rows_per_second;
    }
    cases.push_back(std::move(of_case));
  }
  return {{"bench", "replay"},
          {"n_step", options.n_step},
          {"alpha", options.alpha},
          {"cases", std::move(cases)}};
}

absl::Status RunReplay(const ReplayFlags& flags) {
  const std::vector<bench::ReplayBenchRow> rows = bench::RunReplayBench(flags.options);
  std::cout << bench::DescribeReplayBench(rows);
  if (flags.json.empty()) return absl::OkStatus();
  return base::WriteFileAtomically(flags.json, ToJson(flags.options, rows).dump(2) + "\n");
}

}  // namespace

void AddReplayBench(CLI::App& bench, Selected& selected) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* command = bench.add_subcommand("replay", "the learner's replay on the processor");
  command
      ->add_option("--rows", flags->options.rows,
                   "capacities, each full and at least a launch of 64,000")
      ->check(CLI::Range(64'000, 1'000'000'000))
      ->capture_default_str();
  command->add_option("--batch_size", flags->options.batch_size, "rows drawn at once")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--n_step", flags->options.n_step, "longest window of the rows formed")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--alpha", flags->options.alpha, "of the priorities; 0: uniform")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seconds", flags->options.seconds, "of each measurement")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  command->add_option("--rounds", flags->options.rounds, "ours, limit and peer take turns so often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--json", flags->json, "file for the figures");
  command->callback([flags, &selected] { selected = [flags] { return RunReplay(*flags); }; });
}

}  // namespace vixen::tool
