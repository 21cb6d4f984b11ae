// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_file_builder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/file.h"
#include "base/folder.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_header.h"

namespace vixen::base {
namespace {

constexpr size_t kPage = 4096;

size_t BytesOf(const TensorFileBuilder::Tensor& tensor) {
  size_t bytes = DTypeBytes(tensor.dtype);
  for (const int64_t axis : tensor.shape) bytes *= static_cast<size_t>(axis);
  return bytes;
}

}  // namespace

absl::StatusOr<TensorFileBuilder> TensorFileBuilder::Create(std::string path,
                                                            std::vector<Tensor> tensors,
                                                            size_t header_bytes) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        StrCat("cannot replace ", path, ": it is not a regular file"));
  }
  TensorFileBuilder builder;
  builder.path_ = std::move(path);
  std::ranges::stable_sort(tensors, std::greater(),
                           [](const Tensor& tensor) { return DTypeBytes(tensor.dtype); });
  builder.header_bytes_ = (header_bytes + kPage - 1) / kPage * kPage;
  builder.size_ = builder.header_bytes_;
  for (Tensor& tensor : tensors) {
    const size_t size = BytesOf(tensor);
    builder.tensors_.push_back({std::move(tensor), builder.size_, size});
    builder.size_ += size;
  }
  static std::atomic<unsigned> counter{0};
  do {
    builder.temporary_ = StrCat(builder.path_, ".", ::getpid(), "-b", counter.fetch_add(1), ".tmp");
    builder.descriptor_ =
        ::open(builder.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (builder.descriptor_ < 0 && errno == EEXIST);
  if (builder.descriptor_ < 0) {
    const int error = errno;
    builder.temporary_.clear();
    return ErrnoToStatus(error, "cannot create", builder.path_);
  }
  // Reserved now: a full disk would end the process when a page of the map is written.
  if (const int error =
          ::posix_fallocate(builder.descriptor_, 0, static_cast<off_t>(builder.size_));
      error != 0) {
    return ErrnoToStatus(error, StrCat("cannot reserve ", builder.size_, " bytes for"),
                         builder.path_);
  }
  void* memory =
      ::mmap(nullptr, builder.size_, PROT_READ | PROT_WRITE, MAP_SHARED, builder.descriptor_, 0);
  if (memory == MAP_FAILED) return ErrnoToStatus(errno, "cannot map", builder.path_);
  builder.memory_ = static_cast<std::byte*>(memory);
  return builder;
}

TensorFileBuilder::TensorFileBuilder(TensorFileBuilder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      tensors_(std::move(other.tensors_)),
      header_bytes_(other.header_bytes_),
      size_(other.size_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::exchange(other.memory_, nullptr)) {}

TensorFileBuilder::~TensorFileBuilder() { Discard(); }

void TensorFileBuilder::Discard() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
  memory_ = nullptr;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

std::span<std::byte> TensorFileBuilder::Bytes(std::string_view name) {
  const auto place = std::ranges::find_if(
      tensors_, [name](const Placed& placed) { return placed.tensor.name == name; });
  return {memory_ + place->offset, place->size};
}

void TensorFileBuilder::ReleaseBytes(std::span<const std::byte> bytes) {
  const size_t begin = static_cast<size_t>(bytes.data() - memory_);
  const size_t first = (begin + kPage - 1) / kPage * kPage;
  const size_t end = (begin + bytes.size()) / kPage * kPage;
  // The file's pages stay in the system's cache; this process merely lets go of them.
  if (first < end) ::madvise(memory_ + first, end - first, MADV_DONTNEED);
}

absl::Status TensorFileBuilder::StoreBytes(std::span<const std::byte> place,
                                           std::span<const std::byte> bytes) {
  size_t offset = static_cast<size_t>(place.data() - memory_);
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    // A write of nothing leaves errno as some earlier call set it.
    if (written <= 0) return ErrnoToStatus(written < 0 ? errno : EIO, "cannot write", path_);
    offset += static_cast<size_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

std::vector<std::string> TensorFileBuilder::order() const {
  std::vector<std::string> names;
  for (const Placed& placed : tensors_) names.push_back(placed.tensor.name);
  return names;
}

absl::Status TensorFileBuilder::Finish(std::map<std::string, std::string> metadata,
                                       const std::string& sha256) {
  metadata["sha256"] = sha256;
  std::vector<TensorView> views;
  for (const Placed& placed : tensors_) {
    views.push_back({placed.tensor.name,
                     placed.tensor.dtype,
                     placed.tensor.shape,
                     {memory_ + placed.offset, placed.size}});
  }
  VIXEN_ASSIGN_OR_RETURN(const std::string header,
                         ComposeTensorHeader(metadata, views, header_bytes_));
  if (header.size() != header_bytes_) {
    return absl::InternalError(StrCat(path_, ": a header of ", header.size(), " bytes where ",
                                      header_bytes_, " were reserved"));
  }
  std::memcpy(memory_, header.data(), header.size());
  ::munmap(std::exchange(memory_, nullptr), size_);
  if (::fsync(descriptor_) != 0) return ErrnoToStatus(errno, "cannot sync", path_);
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return ErrnoToStatus(errno, "cannot close", path_);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoToStatus(errno, "cannot rename to", path_);
  }
  temporary_.clear();
  return SyncFolder((std::filesystem::path(path_).parent_path() / ".").string());
}

}  // namespace vixen::base
