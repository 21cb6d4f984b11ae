// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/bar.h"
#include "market/own_features.h"
#include "market/row_policy.h"

namespace vixen::market {

// How arrays of bars are to be understood.
struct NpyOptions {
  // Column by role: time, open, high, low, close, volume, symbol, last. Columns of a 2-D array are
  // called 1, 2, …. Without an entry the usual names are looked for.
  std::map<std::string, std::string> columns;
  std::vector<std::string> symbols;  // instruments to read; empty: all
  bool no_volume = false;            // a volume that is there counts as absent
  Duplicates duplicates = Duplicates::kError;
  Missing missing = Missing::kError;  // a NaN price
};

// Bars of NumPy files in the order given, a later one continues the earlier: an .npz archive of 1-D
// arrays, an .npy array of records, or a 2-D .npy array with `columns`. Times are datetime64 or
// whole numbers since 1970 in one unit, s, ms, µs or ns by their size. INVALID_ARGUMENT naming
// file, array or row, and value; DATA_LOSS for damaged files.
absl::StatusOr<Bars> ReadNpy(const std::vector<std::string>& paths, const NpyOptions& options);

// Features of the user's own: a 2-D array [T, F] with names (of `names`, or the archive's text
// array feature_names), an array of records, or an archive of 1-D arrays; there the names are those
// of the fields or arrays, and a time column (time, timestamp, …) is kept apart. float32, float64
// or integers. Whether they fit the bars is CheckOwnFeatures' matter.
absl::StatusOr<OwnFeatures> ReadOwnFeatures(const std::string& path,
                                            const std::vector<std::string>& names);

}  // namespace vixen::market
