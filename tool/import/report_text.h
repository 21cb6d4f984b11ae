// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "market/import.h"

namespace vixen::tool {

// About ten lines for people: what was read, what was made of it, what to look at.
std::string ImportText(const market::ImportReport& report, const std::string& out);
// The same as one JSON object on one line.
std::string ImportJson(const market::ImportReport& report, const std::string& out);

}  // namespace vixen::tool
