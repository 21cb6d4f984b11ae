// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::base {

// Brings the folder's entries to the disk, as is due after a rename in it. Some file systems cannot
// (EINVAL): nothing more can be done there, and it is no error. Other errors name the folder.
absl::Status SyncFolder(const std::string& folder);

// Paths of the *.safetensors in the folder, by name; folders below are not searched. NOT_FOUND
// naming the folder when it cannot be read to its end.
absl::StatusOr<std::vector<std::string>> TensorFilesIn(const std::string& folder);

}  // namespace vixen::base
