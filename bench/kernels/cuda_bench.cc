// SPDX-License-Identifier: Apache-2.0
// `vixen bench kernel --executor cuda` without the rest of the tool, for machines where only the
// driver is: one JSON line a measurement. Usage: cuda_bench [N…]; no N: every shape and variant.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/kernels/cuda_kernel_bench.h"

namespace vixen::bench {
namespace {

int Report(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "cuda_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

void Print(const CudaBenchRow& row) {
  std::printf(
      "{\"bench\":\"kernel\",\"algorithm\":\"%s\",\"precision\":\"%s\",\"episodes\":%u,"
      "\"steps\":%u,\"widths\":\"%s\",\"setting\":\"%s\",\"ms\":%.4f,\"us_per_step\":%.3f,"
      "\"mtps\":%.2f,\"tflops\":%.1f,\"share\":%.3f,\"share_of_mma_sync\":%.3f}\n",
      row.algorithm.c_str(), std::string(kernels::PrecisionName(row.precision)).c_str(),
      row.episodes, row.steps, row.widths.c_str(), row.setting.c_str(), row.median_ms,
      row.median_ms * 1e3 / row.steps, row.transitions_per_second / 1e6, row.tflops,
      row.share_of_ceiling, row.share_of_mma_sync);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  const auto ceilings = MeasureCudaCeilings(0);
  if (!ceilings.ok()) return Report(ceilings.status());
  std::printf(
      "{\"bench\":\"ceilings\",\"fp16_tflops\":%.1f,\"tf32_tflops\":%.1f,\"fp32_tflops\":%.1f,"
      "\"mma_fp16_tflops\":%.1f,\"mma_tf32_tflops\":%.1f,\"device_copy_gb_per_s\":%.0f,\"host_copy_"
      "gb_per_s\":%.1f}\n",
      ceilings->fp16_tflops, ceilings->tf32_tflops, ceilings->fp32_tflops,
      ceilings->mma_fp16_tflops, ceilings->mma_tf32_tflops, ceilings->device_copy_gb_per_s,
      ceilings->host_copy_gb_per_s);
  CudaBenchOptions options;
  options.variants = argc == 1;
  if (argc > 1) options.episodes.clear();
  for (int i = 1; i < argc; ++i) {
    options.episodes.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  }
  const absl::Status launches = MeasureCudaLaunches(options, *ceilings, Print);
  if (!launches.ok()) return Report(launches);
  const auto pipeline = MeasureCudaPipeline(0, 128, 500);
  if (!pipeline.ok()) return Report(pipeline.status());
  std::printf(
      "{\"bench\":\"pipeline\",\"algorithm\":\"%s\",\"episodes\":%u,\"launch_ms\":%.4f,"
      "\"launch_to_launch_ms\":%.4f,\"busy\":%.3f}\n",
      pipeline->algorithm.c_str(), pipeline->episodes, pipeline->launch_ms,
      pipeline->launch_to_launch_ms, pipeline->busy_share);
  return 0;
}

}  // namespace
}  // namespace vixen::bench

int main(int argc, char** argv) { return vixen::bench::Main(argc, argv); }
