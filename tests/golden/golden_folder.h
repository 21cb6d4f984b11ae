// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace vixen {

// $VIXEN_GOLDEN_DIR, else tests/golden of the source tree.
inline std::string GoldenFolder() {
  if (const char* folder = std::getenv("VIXEN_GOLDEN_DIR")) return folder;
  const char* source = std::getenv("VIXEN_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/tests/golden";
}

}  // namespace vixen
