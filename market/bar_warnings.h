// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "market/bar.h"

namespace vixen::market {

// What is allowed but rarely meant: a volume column of zeros, a volume whose unit seems to change
// (jumps about 1,000-fold), prices that float32 cannot tell apart. `bars` must be valid.
std::vector<std::string> WarningsAbout(const Bars& bars);

}  // namespace vixen::market
