// SPDX-License-Identifier: Apache-2.0
#include "market/own_features.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/dataset.h"
#include "market/dataset_format.h"
#include "market/format.h"

namespace vixen::market {

absl::Status CheckOwnFeatures(const OwnFeatures& features, const Bars& bars) {
  const auto fault = [&](const std::string& text) {
    return absl::InvalidArgumentError(absl::StrCat(features.source, ": ", text));
  };
  if (const absl::Status names = CheckFeatureNames(features.names); !names.ok()) {
    return fault(std::string(names.message()));
  }
  const size_t width = features.names.size(), rows = features.values.size() / width;
  if (rows != bars.size()) {
    return fault(absl::StrCat("has ", rows, " rows of features for ", bars.size(),
                              " bars; there must be one for each bar that is left after reading, "
                              "sessions and resampling"));
  }
  for (size_t row = 0; row < features.timestamp.size(); ++row) {
    if (features.timestamp[row] == bars.timestamp[row]) continue;
    return fault(absl::StrCat("row ", row, " is of ", FormatUtc(features.timestamp[row]),
                              " but bar ", row, " is of ", FormatUtc(bars.timestamp[row])));
  }
  for (size_t i = 0; i < features.values.size(); ++i) {
    if (std::isfinite(features.values[i])) continue;
    return fault(absl::StrCat("row ", i / width, " ", features.names[i % width], " = ",
                              FormatValue(features.values[i])));
  }
  return absl::OkStatus();
}

}  // namespace vixen::market
