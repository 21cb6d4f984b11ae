// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/nn/network.h"

namespace vixen::learner {

// The first weights of a policy: weights and biases of every layer uniform in ±1/√inputs, as a
// plain linear layer of the usual frameworks starts. The same seed gives the same numbers on every
// machine.
kernels::Parameters InitialWeights(const kernels::Architecture& architecture,
                                   kernels::WeightsKind kind, uint64_t seed);

}  // namespace vixen::learner
