// SPDX-License-Identifier: Apache-2.0
// Launches of the CUDA executor with their output in device memory, every rule on, beside the
// card's own ceilings of the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"
#include "kernels/cuda/kernel_log.h"

namespace vixen::bench {

struct CudaBenchOptions {
  int gpu = 0;
  std::vector<uint32_t> episodes = {128, 1024, 8192, 32'768};
  uint32_t steps = 500;
  uint32_t bars = 1'000'000;
  // Each that can run the shape; those that cannot are left out of the result.
  std::vector<kernels::CudaAlgorithm> algorithms = {
      kernels::CudaAlgorithm::kResident, kernels::CudaAlgorithm::kResidentSingle,
      kernels::CudaAlgorithm::kTiled, kernels::CudaAlgorithm::kTiledMma,
      kernels::CudaAlgorithm::kStepped};
  std::vector<kernels::Precision> precisions = {
      kernels::Precision::kFp16, kernels::Precision::kTf32, kernels::Precision::kFp32};
  bool variants = false;  // also other settings and other widths, against `stepped`
};

// Of cuBLAS on 8,192³ (0 without cuBLAS) and of copies, large and in one direction.
struct CudaCeilings {
  double fp16_tflops = 0;
  double tf32_tflops = 0;
  double fp32_tflops = 0;
  double mma_fp16_tflops = 0;  // of mma.sync, operands in registers (cuda_mma_rate.h)
  double mma_tf32_tflops = 0;
  double device_copy_gb_per_s = 0;  // read and written
  double host_copy_gb_per_s = 0;    // device to pinned memory

  double tflops(kernels::Precision precision) const;
  // Of mma.sync; 0 for fp32, whose products are three of fp16.
  double mma_tflops(kernels::Precision precision) const;
};

struct CudaBenchRow {
  std::string algorithm;
  kernels::Precision precision = kernels::Precision::kFp32;
  uint32_t episodes = 0;
  uint32_t steps = 0;
  std::string widths;
  std::string setting = "default";
  double median_ms = 0;
  double transitions_per_second = 0;
  double tflops = 0;                        // of the networks' matrix products, without padding
  std::vector<kernels::KernelUse> kernels;  // of a launch, those written by hand for the card
  double share_of_ceiling = 0;   // of the precision's matrix rate; 0 when that is unknown
  double share_of_mma_sync = 0;  // of mma.sync's; 0 likewise
};

// Launch to launch through the collector: computed, copied to pinned memory, taken by a consumer in
// this process.
struct CudaPipelineRow {
  std::string algorithm;
  uint32_t episodes = 0;
  double launch_ms = 0;  // one launch alone, in device memory
  double launch_to_launch_ms = 0;
  double busy_share = 0;  // launch_ms / launch_to_launch_ms
};

absl::StatusOr<CudaCeilings> MeasureCudaCeilings(int gpu);
// `sink` gets each row as soon as it is measured. Errors: the executor's, but for shapes that an
// algorithm cannot run.
absl::Status MeasureCudaLaunches(const CudaBenchOptions& options, const CudaCeilings& ceilings,
                                 const std::function<void(const CudaBenchRow&)>& sink);
absl::StatusOr<CudaPipelineRow> MeasureCudaPipeline(int gpu, uint32_t episodes, uint32_t steps);

}  // namespace vixen::bench
