// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/nn/matrix_kernel.h"

namespace vixen::kernels {
namespace {

struct Avx2Vector {
  static constexpr size_t kLanes = 8;
  using Register = __m256;
  static Register Broadcast(float x) { return _mm256_set1_ps(x); }
  static Register Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, Register x) { _mm256_storeu_ps(to, x); }
  static Register MultiplyAdd(Register a, Register b, Register c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  static Register LeakyRelu(Register x) {
    return _mm256_max_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLeakySlope)), x);
  }
  static Register LeakyGradient(Register x, Register active) {
    const Register above = _mm256_cmp_ps(active, _mm256_setzero_ps(), _CMP_GT_OQ);
    return _mm256_blendv_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLeakySlope)), x, above);
  }
};

}  // namespace

// 12 sums, two registers of B and one of A: 15 of the 16.
void MultiplyAvx2(const MatrixProduct& product) { Multiply<Avx2Vector, 2>(product); }

}  // namespace vixen::kernels
