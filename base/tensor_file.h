// SPDX-License-Identifier: Apache-2.0
// The one tensor file format of the project: safetensors (u64 LE header length, JSON header, raw
// little-endian row-major tensors). Used for datasets, weights, recorded batches, checkpoints and
// golden cases. docs/formats.md lists what each of them holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::base {

enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64
};

// "F32", "U8", … as in the file's header.
std::string_view DTypeName(DType dtype);
size_t DTypeBytes(DType dtype);

// The element types that Get<T>() may ask for.
template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType DTypeOf<uint32_t>() {
  return DType::kU32;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<uint64_t>() {
  return DType::kU64;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}

// One tensor inside a TensorFile; valid as long as the file object (or the parsed bytes) lives.
struct TensorView {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t elements() const;
  // "F32 [128, 54]" for messages.
  std::string Describe() const;
};

// A parsed file. Every bound is checked before a byte is trusted: header length, JSON, dtypes,
// shapes, products (overflow), offsets, overlaps and holes. Immutable after opening, so any number
// of threads may read it.
class TensorFile {
 public:
  // Maps the file read-only (replace such files by renaming, as the writer does; a file cut short
  // in place while it is mapped ends the process). NOT_FOUND, PERMISSION_DENIED, or
  // INVALID_ARGUMENT naming file and fault. `verify_checksum` hashes all tensor bytes when the
  // metadata carries "sha256": DATA_LOSS if unequal.
  static absl::StatusOr<TensorFile> Open(const std::string& path, bool verify_checksum = true);
  // Parses bytes received from elsewhere. They must outlive the result. `source` names them in
  // errors.
  static absl::StatusOr<TensorFile> Parse(std::span<const std::byte> bytes, std::string source);

  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;
  ~TensorFile();

  const std::string& source() const;
  const std::map<std::string, std::string>& metadata() const;
  // In the order of the data in the file.
  const std::vector<TensorView>& tensors() const;

  // nullptr when there is none of that name.
  const TensorView* Find(std::string_view name) const;

  // The values of tensor `name`, without a copy (a tensor that the writer left misaligned for its
  // type was copied once at opening). Checks dtype and shape; -1 in `shape` accepts any length of
  // that axis. Errors name source, tensor, what was expected and what is there: NOT_FOUND or
  // INVALID_ARGUMENT.
  template <typename T>
  absl::StatusOr<std::span<const T>> Get(std::string_view name,
                                         std::span<const int64_t> shape) const {
    absl::StatusOr<std::span<const std::byte>> bytes = GetBytes(name, DTypeOf<T>(), shape);
    if (!bytes.ok()) return bytes.status();
    return std::span<const T>(reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T));
  }
  template <typename T>
  absl::StatusOr<std::span<const T>> Get(std::string_view name,
                                         std::initializer_list<int64_t> shape) const {
    return Get<T>(name, std::span<const int64_t>(shape.begin(), shape.size()));
  }

 private:
  struct Contents;
  explicit TensorFile(std::unique_ptr<Contents> contents);
  absl::StatusOr<std::span<const std::byte>> GetBytes(std::string_view name, DType dtype,
                                                      std::span<const int64_t> shape) const;
  std::unique_ptr<Contents> contents_;
};

// Collects tensors (borrowed: their memory must live until Write or Serialize returns) and writes
// the file whole: temporary file in the same folder, fsync, rename, fsync of the folder. After an
// error nothing is left behind. The metadata gains "sha256" over the tensor region (replacing one
// that was set). The tensor region begins at a multiple of 8 and holds wider types first, in the
// order given otherwise, so that each tensor is aligned for its type.
class TensorFileWriter {
 public:
  TensorFileWriter& Metadata(std::string key, std::string value);
  TensorFileWriter& Tensor(std::string name, DType dtype, std::vector<int64_t> shape,
                           std::span<const std::byte> bytes);
  template <typename T>
  TensorFileWriter& Tensor(std::string name, std::vector<int64_t> shape,
                           std::span<const T> values) {
    return Tensor(std::move(name), DTypeOf<T>(), std::move(shape), std::as_bytes(values));
  }

  // Fails with INVALID_ARGUMENT on a repeated name or when bytes and shape disagree.
  absl::StatusOr<std::string> Serialize() const;
  // The error names the file and the cause (no space left on device, permission denied, …).
  absl::Status Write(const std::string& path) const;

 private:
  absl::StatusOr<std::string> Header() const;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorView> tensors_;
};

}  // namespace vixen::base
