// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vixen::base {

// The names among `known` that `name` was probably meant to be, nearest first, at most three: by
// edit distance (insert, delete, replace, swap of neighbours), at most a third of the length.
std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& known);

// "; did you mean --steps or --step?" with `prefix` before each name; empty when nothing is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known,
                       std::string_view prefix = "");

}  // namespace vixen::base
