// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernels/batch/statistics.h"

namespace vixen::tool {

// What launches did, for people: shares of the reward's variance first, so that nobody misses that
// profit may be a hundredth of it.
std::string StatisticsText(const kernels::LaunchStatistics& statistics, uint64_t launches);
nlohmann::ordered_json StatisticsJson(const kernels::LaunchStatistics& statistics,
                                      uint64_t launches);

}  // namespace vixen::tool
