// SPDX-License-Identifier: Apache-2.0
// vixen bench kernel: launches of the CPU executor on a random market in memory.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/kernels/kernel_bench.h"
#include "tool/bench/bench.h"

namespace vixen::tool {
namespace {

struct KernelFlags {
  std::vector<std::string> shapes;
  bench::KernelBenchOptions options;
  std::string json;
};

absl::StatusOr<bench::KernelBenchOptions::Shape> ParseShape(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  bench::KernelBenchOptions::Shape shape{};
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &shape.episodes) ||
      !absl::SimpleAtoi(parts[1], &shape.steps)) {
    return base::UsageError(base::StrCat("--shapes ", text, ": give NxL, such as 128x500"));
  }
  return shape;
}

nlohmann::json ToJson(const bench::KernelBenchResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const bench::KernelBenchRow& row : result.rows) {
    rows.push_back({{"episodes", row.shape.episodes},
                    {"steps", row.shape.steps},
                    {"median_ms", row.median_ms},
                    {"fastest_ms", row.fastest_ms},
                    {"slowest_ms", row.slowest_ms},
                    {"transitions_per_second", row.transitions_per_second},
                    {"gflops", row.gflops}});
  }
  return {{"bench", "kernel"},
          {"executor", result.info.executor},
          {"device", result.info.device},
          {"algorithm", result.info.algorithm},
          {"reason", result.info.reason},
          {"large_product_gflops", result.ceiling_gflops},
          {"launches", std::move(rows)}};
}

absl::Status RunKernel(KernelFlags& flags) {
  if (!flags.shapes.empty()) flags.options.shapes.clear();
  for (const std::string& text : flags.shapes) {
    VIXEN_ASSIGN_OR_RETURN(const auto shape, ParseShape(text));
    flags.options.shapes.push_back(shape);
  }
  VIXEN_ASSIGN_OR_RETURN(const bench::KernelBenchResult result,
                         bench::RunKernelBench(flags.options, kernels::MakeCpuCollector));
  std::cout << bench::DescribeKernelBench(result);
  if (flags.json.empty()) return absl::OkStatus();
  return base::WriteFileAtomically(flags.json, ToJson(result).dump(2) + "\n");
}

}  // namespace

void AddKernelBench(CLI::App& bench, Selected& selected) {
  auto flags = std::make_shared<KernelFlags>();
  CLI::App* command = bench.add_subcommand("kernel", "launches of the executor");
  command->add_option("--shapes", flags->shapes, "NxL of the launches (default 128x500 1024x100)");
  command->add_option("--repeats", flags->options.repeats, "measured launches a shape")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--threads", flags->options.threads, "0: what the machine allows")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--json", flags->json, "file for the figures");
  command->callback([flags, &selected] { selected = [flags] { return RunKernel(*flags); }; });
}

}  // namespace vixen::tool
