// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::market::dbn {

// The bytes of a DBN file, plain or as one or more Zstandard frames, in pieces. Memory: a window
// that grows only by what the file really holds. Not thread-safe.
class Input {
 public:
  // NOT_FOUND, PERMISSION_DENIED or INTERNAL when it cannot be opened or read; INVALID_ARGUMENT
  // naming the first four bytes when it is neither DBN nor Zstandard.
  static absl::StatusOr<Input> Open(const std::string& path);
  Input(Input&&) noexcept;
  ~Input();

  // Tries to have `size` bytes at data(); fewer only where the input ends. DATA_LOSS naming the
  // frame's offset in the file when a frame is damaged, or cut off before its end;
  // RESOURCE_EXHAUSTED when a small file unfolds beyond reason.
  absl::Status Need(size_t size);
  const uint8_t* data() const { return window_.get() + begin_; }
  size_t available() const { return end_ - begin_; }
  // REQUIRES: size ≤ available().
  void Skip(size_t size) {
    begin_ += size;
    offset_ += size;
  }
  // Of data(), in the decompressed bytes.
  uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  struct Zstd;
  Input(std::string path, int descriptor);

  absl::Status Start();
  absl::Status Refill();
  absl::StatusOr<size_t> ReadRaw(uint8_t* into, size_t size);
  absl::StatusOr<size_t> Decompress(uint8_t* into, size_t size);

  std::string path_;
  int descriptor_ = -1;
  std::unique_ptr<Zstd> zstd_;         // null: plain
  std::unique_ptr<uint8_t[]> window_;  // written from 0 to end_
  size_t window_size_;
  size_t begin_ = 0, end_ = 0;
  uint64_t offset_ = 0;
  bool at_end_ = false;
};

}  // namespace vixen::market::dbn
