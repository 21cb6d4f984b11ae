// SPDX-License-Identifier: Apache-2.0
// The networks in float64, plainly: what executors are compared with.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/env/settings.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

// The state features[bar] ‖ portfolio.
std::vector<double> ReferenceState(const MarketView& market, uint32_t bar, const float* portfolio);

// Q(state, ·), all 45, of online or target parameters. `layers`: their LayersOf.
std::vector<double> ReferenceQ(const Parameters& parameters, const std::vector<LayerLayout>& layers,
                               const std::vector<double>& state);

// The curiosity model's outputs, E of them. `category`: of the action (0 short, 1 flat, 2 long).
std::vector<double> ReferenceCuriosity(const Parameters& parameters,
                                       const std::vector<LayerLayout>& layers,
                                       const std::vector<double>& state, int category);

// The largest of `q` over the allowed actions.
double LargestAllowed(const EnvSettings& settings, const std::vector<double>& q);

}  // namespace vixen::kernels
