// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::base {

// Whole contents. NOT_FOUND, PERMISSION_DENIED or INTERNAL, naming the file.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Receives the pieces of a file under construction.
using ByteSink = std::function<absl::Status(std::span<const std::byte>)>;

// Creates or replaces `path` as a whole: `produce` writes into a temporary file beside it, which is
// fsynced and renamed. On any error (also from `produce`) the temporary file is removed and the old
// file, if any, is untouched. The error names the file and the system's reason.
absl::Status WriteFileAtomically(const std::string& path,
                                 const std::function<absl::Status(const ByteSink&)>& produce);
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents);

// mkdir -p. FAILED_PRECONDITION naming the part that cannot be made.
absl::Status MakeFolders(const std::string& path);

// errno as a status: "<action> <path>: <reason>", with NOT_FOUND, PERMISSION_DENIED,
// ALREADY_EXISTS, RESOURCE_EXHAUSTED (no space, too many files) or INTERNAL.
absl::Status ErrnoToStatus(int error_number, std::string_view action, std::string_view path);

}  // namespace vixen::base
