// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_header.h"

namespace vixen::base {
namespace {

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // as the format's first implementation

// A read-only mapping; unmaps itself.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, size_t bytes) : address_(address), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (address_ != nullptr) ::munmap(address_, bytes_);
  }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(address_), bytes_};
  }

 private:
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

absl::StatusOr<Mapping> MapFile(const std::string& path) {
  // Without O_NONBLOCK a pipe would be waited for, for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoToStatus(errno, "cannot open", path);
  struct stat info;
  absl::Status fault;
  void* address = nullptr;
  size_t bytes = 0;
  if (::fstat(fd, &info) != 0) {
    fault = ErrnoToStatus(errno, "cannot read", path);
  } else if (!S_ISREG(info.st_mode)) {
    fault = absl::InvalidArgumentError(StrCat(path, ": not a regular file"));
  } else if (bytes = static_cast<size_t>(info.st_size); bytes > 0) {
    address = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) fault = ErrnoToStatus(errno, "cannot map", path);
  }
  ::close(fd);
  if (!fault.ok()) return fault;
  return Mapping(address, bytes);
}

std::string DescribeExpected(DType dtype, std::span<const int64_t> shape) {
  return StrCat(DTypeName(dtype), " [",
                absl::StrJoin(shape, ", ",
                              [](std::string* out, int64_t length) {
                                StrAppend(out, length < 0 ? "any" : StrCat(length));
                              }),
                "]");
}

}  // namespace

int64_t TensorView::elements() const {
  int64_t product = 1;
  for (int64_t length : shape) product *= length;
  return product;
}

std::string TensorView::Describe() const { return DescribeTensor(dtype, shape); }

struct TensorFile::Contents {
  std::string source;
  Mapping mapping;
  std::span<const std::byte> region;
  std::map<std::string, std::string> metadata;
  std::vector<TensorView> tensors;
  std::map<std::string_view, size_t> index;  // names live in `tensors`
  std::vector<std::unique_ptr<std::byte[]>> aligned;
};

TensorFile::TensorFile(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;
TensorFile::~TensorFile() = default;

absl::StatusOr<TensorFile> TensorFile::Parse(std::span<const std::byte> bytes, std::string source) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) {
    return absl::InvalidArgumentError(
        StrCat(source, ": ", bytes.size(), " bytes are too few for a safetensors file"));
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const uint64_t rest = bytes.size() - sizeof(header_bytes);
  if (header_bytes > kMostHeaderBytes || header_bytes > rest) {
    return absl::InvalidArgumentError(
        StrCat(source, ": header length ", header_bytes, " above the ",
               std::min<uint64_t>(rest, kMostHeaderBytes),
               " bytes that can be there: cut off, or not a safetensors file"));
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + sizeof(header_bytes),
                              header_bytes);
  const std::span<const std::byte> region = bytes.subspan(sizeof(header_bytes) + header_bytes);
  VIXEN_ASSIGN_OR_RETURN(TensorHeader header, ParseTensorHeader(json, region.size(), source));

  auto contents = std::make_unique<Contents>();
  contents->source = std::move(source);
  contents->region = region;
  contents->metadata = std::move(header.metadata);
  contents->tensors.reserve(header.entries.size());
  for (TensorHeader::Entry& entry : header.entries) {
    std::span<const std::byte> data = region.subspan(entry.begin, entry.end - entry.begin);
    if (!data.empty() && reinterpret_cast<uintptr_t>(data.data()) % DTypeBytes(entry.dtype) != 0) {
      auto copy = std::make_unique_for_overwrite<std::byte[]>(data.size());
      std::memcpy(copy.get(), data.data(), data.size());
      data = {copy.get(), data.size()};
      contents->aligned.push_back(std::move(copy));
    }
    contents->tensors.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape), data});
  }
  for (size_t i = 0; i < contents->tensors.size(); ++i) {
    contents->index.emplace(contents->tensors[i].name, i);
  }
  return TensorFile(std::move(contents));
}

absl::StatusOr<TensorFile> TensorFile::Open(const std::string& path, bool verify_checksum) {
  VIXEN_ASSIGN_OR_RETURN(Mapping mapping, MapFile(path));
  VIXEN_ASSIGN_OR_RETURN(TensorFile file, Parse(mapping.bytes(), path));
  file.contents_->mapping = std::move(mapping);
  const auto stored = file.metadata().find("sha256");
  if (verify_checksum && stored != file.metadata().end()) {
    Sha256 hash;
    hash.Update(file.contents_->region);
    const std::string computed = ToHex(hash.Finish());
    if (computed != stored->second) {
      return absl::DataLossError(StrCat(path, ": the tensors' SHA-256 is ", computed,
                                        ", the metadata says ", PrintableName(stored->second),
                                        ": the file is damaged, copy or write it again"));
    }
  }
  return file;
}

const std::string& TensorFile::source() const { return contents_->source; }
const std::map<std::string, std::string>& TensorFile::metadata() const {
  return contents_->metadata;
}
const std::vector<TensorView>& TensorFile::tensors() const { return contents_->tensors; }

const TensorView* TensorFile::Find(std::string_view name) const {
  const auto found = contents_->index.find(name);
  return found == contents_->index.end() ? nullptr : &contents_->tensors[found->second];
}

absl::StatusOr<std::span<const std::byte>> TensorFile::GetBytes(
    std::string_view name, DType dtype, std::span<const int64_t> shape) const {
  const TensorView* tensor = Find(name);
  if (tensor == nullptr) {
    return absl::NotFoundError(StrCat(source(), ": tensor \"", name, "\" is missing, expected ",
                                      DescribeExpected(dtype, shape)));
  }
  const bool fits = tensor->dtype == dtype && tensor->shape.size() == shape.size() &&
                    std::equal(shape.begin(), shape.end(), tensor->shape.begin(),
                               [](int64_t want, int64_t have) { return want < 0 || want == have; });
  if (!fits) {
    return absl::InvalidArgumentError(StrCat(source(), ": tensor \"", name, "\": expected ",
                                             DescribeExpected(dtype, shape), ", found ",
                                             tensor->Describe()));
  }
  return tensor->bytes;
}

}  // namespace vixen::base
