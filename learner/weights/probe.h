// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/nn/network.h"
#include "vixen/v1/batch.pb.h"

namespace vixen::learner {

// What the probe state must give, in doubles: the 45 Q-values of online or target weights, or the E
// outputs of the curiosity model at the state's first E entries with category flat.
std::vector<double> ProbeOutputs(const kernels::Parameters& parameters);

// The actor's answer against ours: fp32 within 1e-3 + 1e-4·|x|, tf32 and fp16 within 2e-3 of the
// range. DATA_LOSS naming the entry, both values and the tolerance.
absl::Status CheckProbe(std::span<const double> expected, std::span<const float> answered,
                        v1::Precision precision);

}  // namespace vixen::learner
