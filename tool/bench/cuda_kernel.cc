// SPDX-License-Identifier: Apache-2.0
#include "tool/bench/cuda_kernel.h"

#include <string>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "kernels/cuda/device.h"

namespace vixen::tool {
namespace {

nlohmann::json ToJson(const bench::CudaBenchRow& row) {
  nlohmann::json uses = nlohmann::json::array();
  for (const kernels::KernelUse& use : row.kernels) {
    uses.push_back({{"name", use.name},
                    {"registers", use.registers},
                    {"shared_bytes", use.shared_bytes},
                    {"spilled_bytes", use.spilled_bytes}});
  }
  return {{"kernels", std::move(uses)},
          {"algorithm", row.algorithm},
          {"precision", kernels::PrecisionName(row.precision)},
          {"episodes", row.episodes},
          {"steps", row.steps},
          {"widths", row.widths},
          {"setting", row.setting},
          {"median_ms", row.median_ms},
          {"transitions_per_second", row.transitions_per_second},
          {"tflops", row.tflops},
          {"share_of_ceiling", row.share_of_ceiling},
          {"share_of_mma_sync", row.share_of_mma_sync}};
}

}  // namespace

absl::StatusOr<nlohmann::json> RunCudaKernelBench(const bench::CudaBenchOptions& options,
                                                  std::ostream& out) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::CudaDevice device, kernels::QueryCudaDevice(options.gpu));
  VIXEN_ASSIGN_OR_RETURN(const bench::CudaCeilings ceilings,
                         bench::MeasureCudaCeilings(options.gpu));
  out << device.Describe()
      << absl::StrFormat(
             "\nceilings: products fp16 %.0f, tf32 %.0f, fp32 %.0f TFLOP/s, of mma.sync fp16 %.0f, "
             "tf32 %.0f; copies %.0f GB/s on the device, %.1f GB/s to the host\n",
             ceilings.fp16_tflops, ceilings.tf32_tflops, ceilings.fp32_tflops,
             ceilings.mma_fp16_tflops, ceilings.mma_tf32_tflops, ceilings.device_copy_gb_per_s,
             ceilings.host_copy_gb_per_s);
  nlohmann::json launches = nlohmann::json::array();
  VIXEN_RETURN_IF_ERROR(bench::MeasureCudaLaunches(options, ceilings, [&](const auto& row) {
    launches.push_back(ToJson(row));
    out << absl::StrFormat(
               "%-8s %s  N=%-5d L=%d %s, %s: %.3f ms, %.1f M transitions/s, %.0f %% "
               "(%.0f %% of mma.sync)\n",
               row.algorithm, kernels::PrecisionName(row.precision), row.episodes, row.steps,
               row.widths, row.setting, row.median_ms, row.transitions_per_second / 1e6,
               100 * row.share_of_ceiling, 100 * row.share_of_mma_sync)
        << std::flush;
  }));
  nlohmann::json pipeline = nlohmann::json::array();
  for (const uint32_t episodes : options.episodes) {
    VIXEN_ASSIGN_OR_RETURN(const bench::CudaPipelineRow row,
                           bench::MeasureCudaPipeline(options.gpu, episodes, options.steps));
    pipeline.push_back({{"algorithm", row.algorithm},
                        {"episodes", row.episodes},
                        {"launch_ms", row.launch_ms},
                        {"launch_to_launch_ms", row.launch_to_launch_ms},
                        {"busy_share", row.busy_share}});
    out << absl::StrFormat(
        "launch to launch, rows in host memory: N=%-5d %.3f ms, of it %.1f %% computing\n",
        row.episodes, row.launch_to_launch_ms, 100 * row.busy_share);
  }
  return nlohmann::json{{"bench", "kernel"},
                        {"executor", "cuda"},
                        {"device", device.Describe()},
                        {"ceilings",
                         {{"fp16_tflops", ceilings.fp16_tflops},
                          {"tf32_tflops", ceilings.tf32_tflops},
                          {"fp32_tflops", ceilings.fp32_tflops},
                          {"mma_fp16_tflops", ceilings.mma_fp16_tflops},
                          {"mma_tf32_tflops", ceilings.mma_tf32_tflops},
                          {"device_copy_gb_per_s", ceilings.device_copy_gb_per_s},
                          {"host_copy_gb_per_s", ceilings.host_copy_gb_per_s}}},
                        {"launches", std::move(launches)},
                        {"pipeline", std::move(pipeline)}};
}

}  // namespace vixen::tool
