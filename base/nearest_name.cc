// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"

namespace vixen::base {
namespace {

constexpr size_t kMostNames = 3;
constexpr size_t kLongestName = 128;  // longer ones are not typing errors

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name,
                                      const std::vector<std::string>& known) {
  if (name.empty() || name.size() > kLongestName) return {};
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance <= std::max<size_t>(1, std::min(name.size(), candidate.size()) / 3)) {
      near.emplace_back(distance, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> names;
  for (auto& [distance, candidate] : near) {
    if (names.size() < kMostNames) names.push_back(std::move(candidate));
  }
  return names;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known,
                       std::string_view prefix) {
  const std::vector<std::string> near = NearestNames(name, known);
  if (near.empty()) return "";
  std::string text = "; did you mean ";
  for (size_t i = 0; i < near.size(); ++i) {
    StrAppend(&text, i > 0 ? " or " : "", prefix, near[i]);
  }
  text += "?";
  return text;
}

}  // namespace vixen::base
