// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::transport {

// A file without a place in any folder, replaced as a whole: who opens path() sees the old bytes or
// the new ones, never a mixture. For libraries that read files and secrets that must not be written
// to disk. path() is valid in this process only.
class MemoryFile {
 public:
  static absl::StatusOr<MemoryFile> Create();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  absl::Status Replace(std::string_view bytes);
  std::string path() const;

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace vixen::transport
