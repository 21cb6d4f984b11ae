// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/nn/dense_kernel.h"

namespace vixen::kernels {
namespace {

struct Avx512Vector {
  static constexpr size_t kLanes = 16;
  using Register = __m512;
  static Register Broadcast(float x) { return _mm512_set1_ps(x); }
  static Register Load(const float* from) { return _mm512_load_ps(from); }
  static void Store(float* to, Register x) { _mm512_store_ps(to, x); }
  static Register MultiplyAdd(Register a, Register b, Register c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  static Register LeakyRelu(Register x) {
    return _mm512_max_ps(_mm512_mul_ps(x, _mm512_set1_ps(0.01f)), x);
  }
};

}  // namespace

void DenseForwardAvx512(const PackedLayer& layer, bool leaky, const float* in, float* out,
                        size_t rows) {
  DenseForward<Avx512Vector, 2>(layer, leaky, in, out, rows);
}

}  // namespace vixen::kernels
