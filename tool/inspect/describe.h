// SPDX-License-Identifier: Apache-2.0
// What is in a file, or what an actor or a learner says of itself, as JSON; InspectionText shows it
// to people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {

using Json = nlohmann::ordered_json;

// A dataset, weights, recorded batch or any other tensor file: opened and fully checked as its
// users would. Errors name file and fault.
absl::StatusOr<Json> DescribeFile(const std::string& path);

// A checkpoint's folder: DATA_LOSS when a file of it is missing or not what SHA256SUMS says.
absl::StatusOr<Json> DescribeCheckpoint(const std::string& folder);

// GetInfo and every balance sheet.
absl::StatusOr<Json> DescribeActor(const std::string& address, const v1::TlsSettings& tls);

// What a learner says of itself, and its sheet for each run of each actor.
absl::StatusOr<Json> DescribeLearner(const std::string& address);

// Names and values in two columns, nested groups indented, lists of objects as tables.
std::string InspectionText(const Json& description);

}  // namespace vixen::tool
