// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/matrix.h"

namespace vixen::kernels {

std::vector<MatrixKernel> AvailableMatrixKernels() {
  std::vector<MatrixKernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) kernels.push_back({"avx512", MultiplyAvx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    kernels.push_back({"avx2", MultiplyAvx2});
  }
#endif
  kernels.push_back({"generic", MultiplyGeneric});
  return kernels;
}

}  // namespace vixen::kernels
