// SPDX-License-Identifier: Apache-2.0
// How values and times are written in errors, reports and metadata.
#pragma once

#include <cstdint>
#include <string>

namespace vixen::market {

// The shortest decimal text that reads back as the same number; "nan", "inf", "-inf".
std::string FormatValue(double value);
std::string FormatValue(float value);

// "2024-12-31T23:59:00Z", with as many digits of the second's fraction as are not zero.
std::string FormatUtc(int64_t ns);

}  // namespace vixen::market
