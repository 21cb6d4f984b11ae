// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/nn/dense_kernel.h"

namespace vixen::kernels {
namespace {

struct Avx2Vector {
  static constexpr size_t kLanes = 8;
  using Register = __m256;
  static Register Broadcast(float x) { return _mm256_set1_ps(x); }
  static Register Load(const float* from) { return _mm256_load_ps(from); }
  static void Store(float* to, Register x) { _mm256_store_ps(to, x); }
  static Register MultiplyAdd(Register a, Register b, Register c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  static Register LeakyRelu(Register x) {
    return _mm256_max_ps(_mm256_mul_ps(x, _mm256_set1_ps(0.01f)), x);
  }
};

}  // namespace

void DenseForwardAvx2(const PackedLayer& layer, bool leaky, const float* in, float* out,
                      size_t rows) {
  DenseForward<Avx2Vector, 2>(layer, leaky, in, out, rows);
}

}  // namespace vixen::kernels
