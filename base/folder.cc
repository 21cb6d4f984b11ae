// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/str_cat.h"

namespace vixen::base {

absl::Status SyncFolder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return ErrnoToStatus(errno, "cannot sync folder", folder);
  const int error_number = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error_number == 0 || error_number == EINVAL) return absl::OkStatus();
  return ErrnoToStatus(error_number, "cannot sync folder", folder);
}

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return ErrnoToStatus(errno, "cannot open folder", folder);
  FolderLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(StrCat(folder, " is in use by another process"));
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::StatusOr<std::vector<std::string>> TensorFilesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") files.push_back(entry->path().string());
  }
  if (error) return absl::NotFoundError(StrCat(folder, ": ", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace vixen::base
