// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/str_cat.h"
#include "tool/format.h"
#include "tool/inspect/describe.h"

namespace vixen::tool {
namespace {

size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Padding(size_t used, size_t width) {
  return std::string(used < width ? width - used : 0, ' ');
}

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return Significant(value.get<double>(), 6);
  if (value.is_number_unsigned()) return base::StrCat(value.get<uint64_t>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Objects with the same keys, a line each.
void AppendTable(const Json& rows, const std::string& indent, std::string& text) {
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  std::vector<std::vector<std::string>> cells = {keys};
  std::vector<bool> numbers(keys.size(), true);
  for (const Json& row : rows) {
    std::vector<std::string>& line = cells.emplace_back();
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = row.find(keys[i]);
      line.push_back(found == row.end() ? "" : ValueText(*found));
      if (found != row.end() && !found->is_number()) numbers[i] = false;
    }
  }
  std::vector<size_t> widths(keys.size(), 0);
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  for (const auto& line : cells) {
    std::string row = indent;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string padding = Padding(Width(line[i]), widths[i]);
      base::StrAppend(&row, i == 0 ? "" : "  ", numbers[i] ? padding + line[i] : line[i] + padding);
    }
    while (!row.empty() && row.back() == ' ') row.pop_back();
    base::StrAppend(&text, row, "\n");
  }
}

void AppendObject(const Json& object, const std::string& indent, std::string& text) {
  size_t width = 0;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_structured()) width = std::max(width, key.size());
  }
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      base::StrAppend(&text, indent, key, "\n");
      AppendObject(value, indent + "  ", text);
    } else if (value.is_array()) {
      base::StrAppend(&text, indent, key, value.empty() ? ": none\n" : "\n");
      if (!value.empty()) AppendTable(value, indent + "  ", text);
    } else {
      base::StrAppend(&text, indent, key, Padding(key.size(), width), "  ", ValueText(value), "\n");
    }
  }
}

}  // namespace

std::string InspectionText(const Json& description) {
  std::string text;
  AppendObject(description, "", text);
  return text;
}

}  // namespace vixen::tool
