// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/nn/matrix_kernel.h"

namespace vixen::kernels {
namespace {

struct Avx512Vector {
  static constexpr size_t kLanes = 16;
  using Register = __m512;
  static Register Broadcast(float x) { return _mm512_set1_ps(x); }
  static Register Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, Register x) { _mm512_storeu_ps(to, x); }
  static Register MultiplyAdd(Register a, Register b, Register c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  static Register LeakyRelu(Register x) {
    return _mm512_max_ps(_mm512_mul_ps(x, _mm512_set1_ps(kLeakySlope)), x);
  }
  static Register LeakyGradient(Register x, Register active) {
    const __mmask16 above = _mm512_cmp_ps_mask(active, _mm512_setzero_ps(), _CMP_GT_OQ);
    return _mm512_mask_mul_ps(x, static_cast<__mmask16>(~above), x, _mm512_set1_ps(kLeakySlope));
  }
};

}  // namespace

// 24 sums, four registers of B and one of A: 29 of the 32.
void MultiplyAvx512(const MatrixProduct& product) { Multiply<Avx512Vector, 4>(product); }

}  // namespace vixen::kernels
