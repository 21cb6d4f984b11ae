// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vixen::base {

// "0.1.0": the project's version in CMakeLists.txt.
std::string_view Version();

}  // namespace vixen::base
