// SPDX-License-Identifier: Apache-2.0
#include "market/csv/fields.h"

namespace vixen::market::csv {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view Trimmed(const char* begin, const char* end) {
  while (begin < end && IsBlank(*begin)) ++begin;
  while (begin < end && IsBlank(end[-1])) --end;
  if (end - begin >= 2 && *begin == '"' && end[-1] == '"') return Trimmed(begin + 1, end - 1);
  return std::string_view(begin, static_cast<size_t>(end - begin));
}

}  // namespace

void SplitFields(std::string_view line, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  const char* const end = line.data() + line.size();
  const char* begin = line.data();
  bool quoted = false;
  for (const char* c = begin; c < end; ++c) {
    quoted ^= *c == '"';
    if (*c == delimiter && !quoted) {
      fields.push_back(Trimmed(begin, c));
      begin = c + 1;
    }
  }
  fields.push_back(Trimmed(begin, end));
}

char FindDelimiter(std::string_view line) {
  bool quoted = false, semicolon = false, comma = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\t') return c;
    semicolon |= c == ';';
    comma |= c == ',';
  }
  return semicolon ? ';' : comma ? ',' : '\0';
}

}  // namespace vixen::market::csv
