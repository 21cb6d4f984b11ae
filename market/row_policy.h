// SPDX-License-Identifier: Apache-2.0
// What a reader does with rows that are not plain bars. The defaults refuse: nothing is dropped,
// filled or joined unless the user says so.
#pragma once

namespace vixen::market {

// Which of the rows of one instrument with an equal time is kept.
enum class Duplicates {
  kError,
  kFirst,    // the one that stands first in the file
  kLast,     // the one that stands last in the file
  kSegment,  // all: each later one begins a new segment
};

// A row that holds no price: an empty field, "NaN", "N/A", ".", or DBN's undefined price.
enum class Missing {
  kError,
  kDrop,     // the row is left out; the bars around it follow one another
  kSegment,  // the row is left out and the instrument's next bar begins a new segment
};

}  // namespace vixen::market
