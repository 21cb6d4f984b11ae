// SPDX-License-Identifier: Apache-2.0
// What every writer of a dataset file needs to know of its format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"

namespace vixen::market {

// The metadata of a dataset file: the format's own keys and `extra`. INVALID_ARGUMENT when `extra`
// uses one of them. The names are written as valid UTF-8.
absl::StatusOr<std::map<std::string, std::string>> DatasetMetadata(
    std::span<const std::string> feature_names, const std::string& source,
    std::optional<uint64_t> train_rows, const base::Sha256Digest& fingerprint,
    const base::Sha256Digest& scaler_fingerprint, std::map<std::string, std::string> extra);

// 1 to 253 names, unique, without line breaks: INVALID_ARGUMENT otherwise.
absl::Status CheckFeatureNames(const std::vector<std::string>& names);

}  // namespace vixen::market
