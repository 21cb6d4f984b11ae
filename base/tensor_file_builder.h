// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/tensor_file.h"

namespace vixen::base {

// A tensor file larger than memory: its tensors are filled in place, in a file beside the target,
// which gets the target's name when all is written. Nothing is left behind without Finish. Not
// thread-safe by itself; different values may be written from different threads.
class TensorFileBuilder {
 public:
  struct Tensor {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
  };

  // Reserves the space on disk. `header_bytes`: room for the header, at least that of Finish's
  // metadata, 4 KiB and 200 bytes a tensor. The error names the file and the cause.
  static absl::StatusOr<TensorFileBuilder> Create(std::string path, std::vector<Tensor> tensors,
                                                  size_t header_bytes);
  TensorFileBuilder(TensorFileBuilder&& other) noexcept;
  ~TensorFileBuilder();

  // The values of tensor `name`, zero at first. REQUIRES: it is one of those of Create, of type T.
  template <typename T>
  std::span<T> Get(std::string_view name) {
    const std::span<std::byte> bytes = Bytes(name);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // The memory behind `values` (of a tensor) is not needed until it is touched again.
  template <typename T>
  void Release(std::span<T> values) {
    ReleaseBytes(std::as_bytes(values));
  }

  // place = values, for a part of a tensor, written to the file without mapping its pages first:
  // less work than through the memory where whole pages are new. The error names the file and the
  // cause.
  template <typename T>
  absl::Status Store(std::span<T> place, std::span<const T> values) {
    return StoreBytes(std::as_bytes(place), std::as_bytes(values));
  }

  // Writes the header and renames the file. `sha256`: over all tensor bytes in the order of the
  // file (order()).
  absl::Status Finish(std::map<std::string, std::string> metadata, const std::string& sha256);

  // Names in the order of the data: wider types first, in the order given otherwise.
  std::vector<std::string> order() const;

 private:
  struct Placed {
    Tensor tensor;
    size_t offset = 0, size = 0;  // in the file
  };
  TensorFileBuilder() = default;
  std::span<std::byte> Bytes(std::string_view name);
  void ReleaseBytes(std::span<const std::byte> bytes);
  absl::Status StoreBytes(std::span<const std::byte> place, std::span<const std::byte> bytes);
  void Discard();

  std::string path_, temporary_;
  std::vector<Placed> tensors_;
  size_t header_bytes_ = 0, size_ = 0;
  int descriptor_ = -1;
  std::byte* memory_ = nullptr;
};

}  // namespace vixen::base
