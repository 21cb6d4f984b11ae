// SPDX-License-Identifier: Apache-2.0
#include "bench/learner/matrix_limit.h"

#include "base/status_macros.h"
#include "bench/kernels/kernel_bench.h"
#include "kernels/env/settings.h"
#if defined(VIXEN_WITH_CUDA)
#include "bench/kernels/cuda_kernel_bench.h"
#endif

namespace vixen::bench {

double GigaflopOfUpdate(const kernels::Architecture& a, double batch) {
  const double first = static_cast<double>(a.state()) * a.hidden1;
  const double rest = static_cast<double>(a.hidden1) * a.hidden2 +
                      static_cast<double>(a.hidden2) * (a.value_hidden + a.advantage_hidden) +
                      a.value_hidden + static_cast<double>(kernels::kActions) * a.advantage_hidden;
  return 2e-9 * batch * (3 * (first + rest) + first + 2 * rest);
}

absl::StatusOr<double> LargeProductGflops(const learner::Devices& devices, int threads,
                                          learner::DevicePrecision precision) {
  if (devices.name() == "cpu") return LargeProductGflops(threads);
#if defined(VIXEN_WITH_CUDA)
  if (devices.gpu.has_value()) {
    static const absl::StatusOr<CudaCeilings> ceilings = MeasureCudaCeilings(*devices.gpu);
    VIXEN_RETURN_IF_ERROR(ceilings.status());
    switch (precision) {
      case learner::DevicePrecision::kFp32:
        return 1e3 * ceilings->fp32_tflops;
      case learner::DevicePrecision::kTf32:
        return 1e3 * ceilings->tf32_tflops;
      case learner::DevicePrecision::kBf16:
        return 1e3 * ceilings->fp16_tflops;
    }
  }
#else
  static_cast<void>(precision);
#endif
  return 0.0;
}

}  // namespace vixen::bench
