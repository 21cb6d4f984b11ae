// SPDX-License-Identifier: Apache-2.0
#include "tool/bench/shape.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/exit_code.h"
#include "base/str_cat.h"

namespace vixen::tool {

absl::StatusOr<Shape> ParseShape(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  Shape shape;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &shape.episodes) ||
      !absl::SimpleAtoi(parts[1], &shape.steps) || shape.episodes < 1 || shape.steps < 1) {
    return base::UsageError(base::StrCat("--shapes ", text, ": give NxL, such as 128x500"));
  }
  return shape;
}

}  // namespace vixen::tool
