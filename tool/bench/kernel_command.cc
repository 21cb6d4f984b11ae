// SPDX-License-Identifier: Apache-2.0
// vixen bench kernel: launches of an executor on a random market in memory.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/kernels/kernel_bench.h"
#include "tool/bench/bench.h"
#include "tool/bench/shape.h"
#include "tool/executor_flags.h"
#if defined(VIXEN_WITH_CUDA)
#include "tool/bench/cuda_kernel.h"
#endif

namespace vixen::tool {
namespace {

struct KernelFlags {
  std::vector<std::string> shapes;
  bench::KernelBenchOptions options;
  ExecutorFlags executor;
  bool variants = false;
  std::string json;
};

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

absl::StatusOr<nlohmann::json> MeasureCpu(const KernelFlags& flags,
                                          const kernels::CollectorFactory& make) {
  VIXEN_ASSIGN_OR_RETURN(const bench::KernelBenchResult result,
                         bench::RunKernelBench(flags.options, make));
  std::cout << bench::DescribeKernelBench(result);
  return ToJson(result);
}

#if defined(VIXEN_WITH_CUDA)
absl::StatusOr<nlohmann::json> MeasureCuda(const KernelFlags& flags) {
  bench::CudaBenchOptions options;
  options.gpu = flags.executor.wish.gpu;
  options.variants = flags.variants;
  if (flags.executor.wish.algorithm != kernels::CudaAlgorithm::kAuto) {
    options.algorithms = {flags.executor.wish.algorithm};
  }
  if (flags.executor.precision != kernels::Precision::kAuto) {
    options.precisions = {flags.executor.precision};
  }
  if (!flags.shapes.empty()) options.episodes.clear();
  for (const std::string& text : flags.shapes) {
    VIXEN_ASSIGN_OR_RETURN(const auto shape, ParseShape(text));
    if (!options.episodes.empty() && shape.steps != options.steps) {
      return base::UsageError("--shapes: all of one L with --executor cuda");
    }
    options.episodes.push_back(shape.episodes);
    options.steps = shape.steps;
  }
  return RunCudaKernelBench(options, std::cout);
}
#endif

absl::Status RunKernel(KernelFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::ChosenExecutor chosen, flags.executor.Choose());
  if (!flags.shapes.empty()) flags.options.shapes.clear();
  for (const std::string& text : flags.shapes) {
    VIXEN_ASSIGN_OR_RETURN(const Shape shape, ParseShape(text));
    flags.options.shapes.push_back({shape.episodes, shape.steps});
  }
  flags.options.threads = flags.executor.threads;
#if defined(VIXEN_WITH_CUDA)
  VIXEN_ASSIGN_OR_RETURN(const nlohmann::json figures, chosen.kind == kernels::ExecutorKind::kCuda
                                                           ? MeasureCuda(flags)
                                                           : MeasureCpu(flags, chosen.make));
#else
  VIXEN_ASSIGN_OR_RETURN(const nlohmann::json figures, MeasureCpu(flags, chosen.make));
#endif
  if (flags.json.empty()) return absl::OkStatus();
  return base::WriteFileAtomically(flags.json, figures.dump(2) + "\n");
}

}  // namespace

void AddKernelBench(CLI::App& bench, Selected& selected) {
  auto flags = std::make_shared<KernelFlags>();
  CLI::App* command = bench.add_subcommand("kernel", "launches of the executor");
  command->add_option(
      "--shapes", flags->shapes,
      "NxL of the launches (CPU: 128x500 1024x100; CUDA: 128, 1024, 8192, 32768 x 500)");
  command->add_option("--repeats", flags->options.repeats, "measured launches a shape")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  flags->executor.AddTo(*command);
  command->add_flag("--variants", flags->variants,
                    "CUDA: other settings and widths too, beside stepped");
  command->add_option("--json", flags->json, "file for the figures");
  command->callback([flags, &selected] { selected = [flags] { return RunKernel(*flags); }; });
}

}  // namespace vixen::tool
