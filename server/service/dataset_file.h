// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::server {

// The dataset's file, held open: what is streamed stays the same bytes when the file is replaced
// meanwhile. Thread-safe.
class DatasetFile {
 public:
  static absl::StatusOr<DatasetFile> Open(const std::string& path);
  DatasetFile(DatasetFile&& other) noexcept;
  DatasetFile& operator=(DatasetFile&&) = delete;
  ~DatasetFile();

  uint64_t size() const { return size_; }
  // Bytes [offset, offset + size); OUT_OF_RANGE when the file was cut short meanwhile.
  absl::StatusOr<std::string> Read(uint64_t offset, uint64_t size) const;

 private:
  DatasetFile(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  std::string path_;
  int descriptor_;
  uint64_t size_;
};

}  // namespace vixen::server
