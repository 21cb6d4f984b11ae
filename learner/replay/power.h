// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace vixen::learner {

// values[i] = values[i]^exponent for values ≥ 0, finite, and exponent ≥ 0; 0^exponent is 0. Rounded
// right but for ties closer than 2⁻³³ of the result, and the same bits on every processor: no
// library and no instruction set has a part in it. About 3 ns a number.
void PowerInPlace(std::span<float> values, float exponent);

}  // namespace vixen::learner
