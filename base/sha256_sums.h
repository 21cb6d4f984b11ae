// SPDX-License-Identifier: Apache-2.0
// A folder's SHA256SUMS, in the form that `sha256sum -c` reads.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"

namespace vixen::base {

// Reads the files of `folder` and writes SHA256SUMS beside them, fsynced.
absl::Status WriteSha256Sums(const std::string& folder, std::span<const char* const> files);

// DATA_LOSS naming the first of `files` that is missing, not listed, or other than listed, with
// both digests, or SHA256SUMS where it is cut off or lists others.
absl::Status VerifySha256Sums(const std::string& folder, std::span<const char* const> files);

}  // namespace vixen::base
