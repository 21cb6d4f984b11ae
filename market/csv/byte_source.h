// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::market::csv {

// The bytes of a plain or gzip file, read in pieces. Not thread-safe.
class ByteSource {
 public:
  // NOT_FOUND, PERMISSION_DENIED or INTERNAL, naming the file.
  static absl::StatusOr<ByteSource> Open(const std::string& path);

  // Up to `size` bytes; 0 at the end. DATA_LOSS when a gzip stream is damaged or cut off.
  absl::StatusOr<size_t> Read(char* into, size_t size);

  const std::string& path() const { return path_; }
  // Its bytes are all there already; those of a pipe may be waited for.
  bool regular_file() const { return regular_file_; }

 private:
  struct Closer {
    void operator()(void* file) const;
  };
  ByteSource(std::string path, bool regular_file, void* file)
      : path_(std::move(path)), regular_file_(regular_file), file_(file) {}

  std::string path_;
  bool regular_file_;
  std::unique_ptr<void, Closer> file_;  // a gzFile
};

}  // namespace vixen::market::csv
