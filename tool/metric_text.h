// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tool/eval/metrics.h"

namespace vixen::tool {

// "−3.21 %", "1.24", "12,345.67", "1,204 bars"; "–" for a value that cannot be had.
std::string MetricText(const MetricSpec& spec, const Metric& metric);

}  // namespace vixen::tool
