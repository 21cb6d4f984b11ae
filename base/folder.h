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

// One process's hold on a folder that it writes into, from Take until it is destroyed or the
// process ends, however it ends. It keeps out only those who ask for it too.
class FolderLock {
 public:
  // Does not wait: FAILED_PRECONDITION naming the folder when somebody else holds it, also another
  // FolderLock of this process. On a file system without such locks nobody is kept out, which is no
  // error.
  static absl::StatusOr<FolderLock> Take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

// Paths of the *.safetensors in the folder, by name; folders below are not searched. NOT_FOUND
// naming the folder when it cannot be read to its end.
absl::StatusOr<std::vector<std::string>> TensorFilesIn(const std::string& folder);

}  // namespace vixen::base
