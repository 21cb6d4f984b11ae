// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/status/statusor.h"
#include "bench/kernels/cuda_kernel_bench.h"

namespace vixen::tool {

// Ceilings, launches and the pipeline of one GPU: a line each to `out` as they come, and all as
// JSON.
absl::StatusOr<nlohmann::json> RunCudaKernelBench(const bench::CudaBenchOptions& options,
                                                  std::ostream& out);

}  // namespace vixen::tool
