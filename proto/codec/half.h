// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace vixen::codec {

// IEEE 754 binary16, round to nearest even. Beyond ±65,504 the value saturates there instead of
// becoming infinite; NaN stays NaN. `halves` and `floats` have equal lengths.
void FloatsToHalves(std::span<const float> floats, uint16_t* halves);
void HalvesToFloats(const uint16_t* halves, std::span<float> floats);

}  // namespace vixen::codec
