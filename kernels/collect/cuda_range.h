// SPDX-License-Identifier: Apache-2.0
// How large values inside the networks can become: bounds from norms, known when weights are
// accepted. They decide whether fp16 operands can hold every activation, and they give the powers
// of two that split operands are scaled by.
#pragma once

#include <cstdint>

#include "kernels/env/settings.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

inline constexpr float kLargestHalf = 65504.0f;

// Of one state row: largest |value|, and Euclidean norm. Portfolio features are taken as
// |equity / initial capital| and |unrealised| ≤ 64, |exposure| ≤ 10.
struct StateRange {
  float largest = 64.0f;
  float norm = 100.0f;
};
// Reads every feature of the effective range once.
StateRange RangeOfStates(const MarketView& market);

struct NetworkRange {
  // Bound of |w · x + b| over the neurons of layers 0, 1 and 2 (streams; curiosity: 0 and 1).
  double sums[3] = {0, 0, 0};
  // Largest |parameter| of matrices 0 … 3 (as of WeightsLayout; biases count for layer 0 alone).
  double weights[4] = {0, 0, 0, 0};
  double largest_parameter = 0;

  double largest_sum() const;
};
NetworkRange RangeOfNetwork(const Parameters& parameters, const StateRange& states);

// Every operand fits fp16.
bool FitsFp16(const NetworkRange& range, const StateRange& states);
// Split operands keep float32's precision (2^-20 of an activation of size 1).
bool FitsSplit(const NetworkRange& range, const StateRange& states);
// fp16 operands scaled to the top of its range keep 11 significant bits of an activation of size 1.
bool FitsScaledFp16(const NetworkRange& range, const StateRange& states);
// No sum overflows.
bool FitsTf32(const NetworkRange& range, const StateRange& states);

// Powers of two: a value of at most `largest` times 2^exponent is at most 2^15.
int SplitExponent(double largest);

}  // namespace vixen::kernels
