// SPDX-License-Identifier: Apache-2.0
// What `vixen bench learner` runs. Its peers are bench/peers/learner_peer.py (run.sh) and, on a
// GPU, torch_update.py.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "bench/learner/learner_bench_flags.h"
#include "bench/learner/update_rate.h"
#include "proto/config/command_line.h"

namespace vixen::bench {
namespace {

constexpr char kProgram[] = "learner_bench";

nlohmann::json ToJson(const LearnerBenchFlags& flags, const LearnerBenchMachine& machine,
                      const UpdateRate& rate) {
  nlohmann::json figures = {{"program", "vixen"},
                            {"net", flags.net},
                            {"batch_size", rate.batch_size},
                            {"threads", machine.threads},
                            {"updates_at_once", rate.updates_at_once},
                            {"updates_per_second", rate.updates_per_second},
                            {"slowest", rate.slowest},
                            {"fastest", rate.fastest},
                            {"cpu_ms_per_update", rate.cpu_ms_per_update},
                            {"loss", rate.loss},
                            {"gigaflop_per_update", rate.gigaflop},
                            {"gflops", rate.gflops()},
                            {"insert_ms", rate.insert_ms}};
  if (rate.limit_gflops > 0) {
    figures.update({{"limit_gflops", rate.limit_gflops},
                    {"limit_updates_per_second", rate.limit_updates_per_second()},
                    {"share_of_limit", rate.gflops() / rate.limit_gflops}});
  }
  return figures;
}

std::string Describe(const UpdateRate& rate) {
  std::string text =
      absl::StrFormat("batch %d: %.1f updates/s (%.1f … %.1f), %.3f ms each, %.1f GFLOP/s",
                      rate.batch_size, rate.updates_per_second, rate.slowest, rate.fastest,
                      1e3 / rate.updates_per_second, rate.gflops());
  if (rate.limit_gflops > 0) {
    absl::StrAppendFormat(&text, ", %.0f %% of a large product's %.1f (by paper %.1f updates/s)",
                          100 * rate.gflops() / rate.limit_gflops, rate.limit_gflops,
                          rate.limit_updates_per_second());
  }
  return absl::StrFormat("%s; 64,000 rows inserted in %.3f ms\n", text, rate.insert_ms);
}

absl::Status Run(const LearnerBenchFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const LearnerBenchMachine machine, SetUpLearnerBench(flags));
  const std::string device = machine.devices.name();
  const std::string precision = PrecisionName(machine.precision);
  std::cout << absl::StrFormat("%s, %d threads, %s, %s network, replay of %d rows\n", device,
                               machine.threads, precision, flags.net, flags.rows)
            << std::flush;
  nlohmann::json updates = nlohmann::json::array();
  VIXEN_RETURN_IF_ERROR(MeasureUpdates(flags, machine, [&](const UpdateRate& rate) {
    std::cout << Describe(rate) << std::flush;
    updates.push_back(ToJson(flags, machine, rate));
  }));
  if (flags.json.empty()) return absl::OkStatus();
  const nlohmann::json all = {
      {"bench", "learner"},           {"device", device},
      {"precision", precision},       {"algorithm", flags.algorithm},
      {"rows", flags.rows},           {"curiosity_every", flags.curiosity_every},
      {"updates", std::move(updates)}};
  return base::WriteFileAtomically(flags.json, all.dump(2) + "\n");
}

}  // namespace
}  // namespace vixen::bench

int main(int argc, char** argv) {
  vixen::bench::LearnerBenchFlags flags;
  CLI::App app("Updates a second of the learner's replay and trainer", vixen::bench::kProgram);
  flags.AddTo(app);
  if (const auto exit_code =
          vixen::config::ParseCommandLine(app, argc, argv, vixen::bench::kProgram)) {
    return *exit_code;
  }
  return vixen::base::ReportStatus(vixen::bench::kProgram, vixen::bench::Run(flags));
}
