// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vixen::market {

// values[i] = ln(values[i]) for count values > 0, several at a time. Within 1 unit in the last
// place, and the same bits wherever a value stands and on every x86-64 processor: the system's ln
// promises neither between its versions, and takes one value at a time. 0 and infinity as usual.
void LogInPlace(double* values, size_t count);

}  // namespace vixen::market
