// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/nn/dense_kernel.h"

namespace vixen::kernels {
namespace {

// Four rows in plain C++: for processors without AVX2, and what the others are compared with.
struct PlainVector {
  static constexpr size_t kLanes = 4;
  struct Register {
    float lane[kLanes];
  };
  static Register Broadcast(float x) { return {{x, x, x, x}}; }
  static Register Load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static void Store(float* to, const Register& x) {
    for (size_t i = 0; i < kLanes; ++i) to[i] = x.lane[i];
  }
  static Register MultiplyAdd(const Register& a, const Register& b, const Register& c) {
    Register sum;
    for (size_t i = 0; i < kLanes; ++i) sum.lane[i] = std::fma(a.lane[i], b.lane[i], c.lane[i]);
    return sum;
  }
  static Register LeakyRelu(const Register& x) {
    Register y;
    for (size_t i = 0; i < kLanes; ++i)
      y.lane[i] = x.lane[i] > 0.0f ? x.lane[i] : 0.01f * x.lane[i];
    return y;
  }
};

}  // namespace

void DenseForwardGeneric(const PackedLayer& layer, bool leaky, const float* in, float* out,
                         size_t rows) {
  DenseForward<PlainVector, 1>(layer, leaky, in, out, rows);
}

}  // namespace vixen::kernels
