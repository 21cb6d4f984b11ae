// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace vixen::market::csv {

// Cuts a line at its delimiters into `fields` (cleared first; views into the line). A field may
// stand in double quotes, which then hide delimiters; quotes and blanks around a field are taken
// off.
void SplitFields(std::string_view line, char delimiter, std::vector<std::string_view>& fields);

// Tab, semicolon or comma: the first of them that the line holds outside quotes; 0 when none. In
// this order because a decimal comma may stand beside the other two, but not the other way round.
char FindDelimiter(std::string_view line);

}  // namespace vixen::market::csv
