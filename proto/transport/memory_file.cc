// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/str_cat.h"

namespace vixen::transport {
namespace {

constexpr char kName[] = "vixen-pem";

absl::Status WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::ErrnoToStatus(errno, "write", kName);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemoryFile> MemoryFile::Create() {
  const int descriptor = memfd_create(kName, MFD_CLOEXEC);
  if (descriptor < 0) return base::ErrnoToStatus(errno, "memfd_create", kName);
  return MemoryFile(descriptor);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status MemoryFile::Replace(std::string_view bytes) {
  const int next = memfd_create(kName, MFD_CLOEXEC);
  if (next < 0) return base::ErrnoToStatus(errno, "memfd_create", kName);
  absl::Status status = WriteAll(next, bytes);
  // The descriptor's number, and with it the path, changes what it names in one step.
  if (status.ok() && dup3(next, descriptor_, O_CLOEXEC) < 0) {
    status = base::ErrnoToStatus(errno, "dup3", kName);
  }
  close(next);
  return status;
}

std::string MemoryFile::path() const { return base::StrCat("/proc/self/fd/", descriptor_); }

}  // namespace vixen::transport
