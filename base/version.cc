// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace vixen::base {

std::string_view Version() { return VIXEN_VERSION; }

}  // namespace vixen::base
