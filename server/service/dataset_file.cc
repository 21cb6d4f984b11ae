// SPDX-License-Identifier: Apache-2.0
#include "server/service/dataset_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/str_cat.h"

namespace vixen::server {

absl::StatusOr<DatasetFile> DatasetFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return base::ErrnoToStatus(errno, "cannot open", path);
  struct stat properties;
  if (fstat(descriptor, &properties) != 0) {
    const int error = errno;
    close(descriptor);
    return base::ErrnoToStatus(error, "cannot examine", path);
  }
  return DatasetFile(path, descriptor, static_cast<uint64_t>(properties.st_size));
}

DatasetFile::DatasetFile(DatasetFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

DatasetFile::~DatasetFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<std::string> DatasetFile::Read(uint64_t offset, uint64_t size) const {
  std::string bytes(size, '\0');
  uint64_t done = 0;
  while (done < size) {
    const ssize_t got =
        pread(descriptor_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoToStatus(errno, "cannot read", path_);
    if (got == 0) {
      return absl::OutOfRangeError(
          base::StrCat(path_, " was cut short: nothing at byte ", offset + done));
    }
    done += static_cast<uint64_t>(got);
  }
  return bytes;
}

}  // namespace vixen::server
