// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vixen::market::csv {

// Names of instruments in order of first appearance.
class Instruments {
 public:
  // The number of `name`, a new one when it was not seen before.
  uint32_t NumberOf(const std::string& name) {
    const auto [place, added] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (added) names_.push_back(name);
    return place->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> numbers_;
};

}  // namespace vixen::market::csv
