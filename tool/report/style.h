// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vixen::tool {

// The page's style sheet: light and dark by the reader's preference, system fonts, one column that
// fits a phone. Charts take their colours from it.
extern const char kReportStyle[];

}  // namespace vixen::tool
