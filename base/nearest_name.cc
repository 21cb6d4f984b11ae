// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/str_cat.h"

namespace vixen::base {
namespace {

constexpr size_t kMostNames = 3;
constexpr size_t kLongestName = 128;  // longer ones are not typing errors

// With swapped neighbours as one edit. REQUIRES: b.size() <= kLongestName.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::array<std::array<size_t, kLongestName + 1>, 3> rows;  // of a's last letters, in turn
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& now = rows[i % 3];
    const auto& before = rows[(i + 2) % 3];
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], rows[(i + 1) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

using LetterCounts = std::array<uint8_t, 256>;

LetterCounts CountsOf(std::string_view name) {
  LetterCounts counts{};
  for (const char letter : name) ++counts[static_cast<uint8_t>(letter)];
  return counts;
}

// Letters of `name` beyond those of `counts`: no fewer edits lead from one to the other.
size_t LettersBeyond(LetterCounts counts, std::string_view name) {
  size_t beyond = 0;
  for (const char letter : name) {
    uint8_t& left = counts[static_cast<uint8_t>(letter)];
    if (left == 0) {
      ++beyond;
    } else {
      --left;
    }
  }
  return beyond;
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name,
                                      const std::vector<std::string>& known) {
  if (name.empty() || name.size() > kLongestName) return {};
  const LetterCounts counts = CountsOf(name);
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestName) continue;
    const size_t shorter = std::min(name.size(), candidate.size());
    const size_t longer = std::max(name.size(), candidate.size());
    const size_t most = std::max<size_t>(1, shorter / 3);
    if (longer - shorter > most || LettersBeyond(counts, candidate) > most) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance <= most) near.emplace_back(distance, candidate);
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
