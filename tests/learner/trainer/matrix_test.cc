// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/matrix.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vixen::learner {
namespace {

struct Size {
  size_t rows, columns, inner;
};

std::vector<float> Random(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

class Kernels : public testing::TestWithParam<MatrixKernel> {};

// Widths of one, two and four registers with what is left over, rows of whole tiles and not.
TEST_P(Kernels, MultiplyAsInDoubles) {
  for (const Size size :
       {Size{1, 16, 1}, Size{5, 32, 7}, Size{6, 48, 54}, Size{23, 112, 33}, Size{64, 64, 96}}) {
    for (const bool transposed : {false, true}) {
      const size_t a_row = transposed ? 1 : size.inner + 3, a_step = transposed ? size.rows : 1;
      const std::vector<float> a = Random((size.rows + 3) * (size.inner + 3), 1);
      const std::vector<float> b = Random(size.inner * (size.columns + 1), 2);
      const std::vector<float> bias = Random(size.columns, 3);
      const std::vector<float> active = Random(size.rows * size.columns, 4);
      const std::vector<float> before = Random(size.rows * size.columns, 5);
      for (int variant = 0; variant < 4; ++variant) {
        std::vector<float> c = before;
        MatrixProduct product{.a = a.data(),
                              .a_row = a_row,
                              .a_step = a_step,
                              .b = b.data(),
                              .b_row = size.columns + 1,
                              .c = c.data(),
                              .c_row = size.columns,
                              .rows = size.rows,
                              .columns = size.columns,
                              .inner = size.inner};
        product.accumulate = variant == 1;
        product.bias = variant == 2 ? bias.data() : nullptr;
        product.leaky = variant == 2;
        product.active = variant == 3 ? active.data() : nullptr;
        GetParam().multiply(product);
        for (size_t i = 0; i < size.rows; ++i) {
          for (size_t j = 0; j < size.columns; ++j) {
            const size_t at = i * size.columns + j;
            double expected = variant == 1 ? before[at] : variant == 2 ? bias[j] : 0.0;
            for (size_t k = 0; k < size.inner; ++k) {
              expected +=
                  static_cast<double>(a[i * a_row + k * a_step]) * b[k * (size.columns + 1) + j];
            }
            if (variant == 2 && expected < 0) expected *= kLeakySlope;
            if (variant == 3 && active[at] <= 0) expected *= kLeakySlope;
            ASSERT_NEAR(c[at], expected, 2e-5) << "variant " << variant << ", row " << i
                                               << ", column " << j << ", inner " << size.inner;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfThisProcessor, Kernels, testing::ValuesIn(AvailableMatrixKernels()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

}  // namespace
}  // namespace vixen::learner
