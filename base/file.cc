// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/folder.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::base {
namespace {

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kInternal;
  }
}

// An open file descriptor; closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  // The last chance for a write error to show itself.
  int Close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

// Removes the temporary file unless it was renamed.
class TemporaryName {
 public:
  explicit TemporaryName(std::string path) : path_(std::move(path)) {}
  ~TemporaryName() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  void Release() { path_.clear(); }

 private:
  std::string path_;
};

absl::Status WriteAll(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoToStatus(errno, "cannot write", path);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ErrnoToStatus(int error_number, std::string_view action, std::string_view path) {
  return absl::Status(
      CodeOfErrno(error_number),
      StrCat(action, " ", path, ": ", std::generic_category().message(error_number)));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) return ErrnoToStatus(errno, "cannot open", path);
  struct stat info;
  if (::fstat(descriptor.get(), &info) != 0) return ErrnoToStatus(errno, "cannot read", path);
  std::string contents;
  size_t used = 0;
  // Pipes and /proc say size 0, so the end of the file decides and the size is only a first guess.
  contents.resize(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) + 1 : 65536);
  for (;;) {
    if (used == contents.size()) contents.resize(contents.size() * 2);
    const ssize_t count = ::read(descriptor.get(), contents.data() + used, contents.size() - used);
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoToStatus(errno, "cannot read", path);
    }
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  contents.resize(used);
  return contents;
}

absl::Status WriteFileAtomically(const std::string& path,
                                 const std::function<absl::Status(const ByteSink&)>& produce) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        StrCat("cannot replace ", path, ": it is not a regular file"));
  }
  // Process id and counter make the name this writer's own; a leftover of a killed process with the
  // same id is skipped, not reused.
  static std::atomic<unsigned> counter{0};
  std::string temporary;
  int fd = -1;
  do {
    temporary = StrCat(path, ".", ::getpid(), "-", counter.fetch_add(1), ".tmp");
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) return ErrnoToStatus(errno, "cannot create", path);

  Descriptor descriptor(fd);
  TemporaryName name(temporary);
  VIXEN_RETURN_IF_ERROR(produce(
      [&](std::span<const std::byte> bytes) { return WriteAll(descriptor.get(), bytes, path); }));
  if (::fsync(descriptor.get()) != 0) return ErrnoToStatus(errno, "cannot sync", path);
  if (descriptor.Close() != 0) return ErrnoToStatus(errno, "cannot close", path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoToStatus(errno, "cannot rename to", path);
  }
  name.Release();
  return SyncFolder((std::filesystem::path(path).parent_path() / ".").string());
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  return WriteFileAtomically(
      path, [&](const ByteSink& sink) { return sink(std::as_bytes(std::span(contents))); });
}

absl::Status MakeFolders(const std::string& path) {
  std::filesystem::path made;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    made /= part;
    std::error_code error;
    if (std::filesystem::is_directory(made, error)) continue;
    std::filesystem::create_directory(made, error);
    // Another process may have made it meanwhile.
    std::error_code again;
    if (error || !std::filesystem::is_directory(made, again)) {
      return absl::FailedPreconditionError(
          StrCat("cannot make folder ", made.string(), ": ",
                 error ? error.message() : std::generic_category().message(ENOTDIR)));
    }
  }
  return absl::OkStatus();
}

}  // namespace vixen::base
