// SPDX-License-Identifier: Apache-2.0
// A strict reader of the markup that the report makes: nothing of HTML's leniency.
#pragma once

#include <string>
#include <vector>

namespace vixen::tool {

// Empty when every tag is closed in order, attributes are quoted and no bare < or & stands in text;
// else what is wrong and where.
inline std::string MarkupFault(const std::string& text) {
  std::vector<std::string> open;
  const auto fault = [&](const std::string& what, size_t at) {
    return what + " at: " + text.substr(at, 60);
  };
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&') {
      const size_t end = text.find(';', at);
      if (end == std::string::npos || end - at > 8) return fault("bare &", at);
      continue;
    }
    if (text[at] != '<') continue;
    size_t end = at + 1;
    bool quoted = false;
    for (; end < text.size() && (quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (text[end] == '<') return fault("< inside a tag", at);
    }
    if (end == text.size()) return fault("tag without end", at);
    const std::string tag = text.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != name.npos) {
      return fault("odd tag", at);
    }
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) return fault("closes what is not open", at);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

}  // namespace vixen::tool
