// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace vixen::base {

using Sha256Digest = std::array<uint8_t, 32>;

// SHA-256 over bytes given in pieces (OpenSSL inside). Not thread-safe; one object a hash.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  // The raw little-endian bytes of numbers (a scalar or an array); hosts are little-endian.
  template <typename T>
  void UpdateValues(std::span<const T> values) {
    Update(std::as_bytes(values));
  }
  template <typename T>
  void UpdateValue(const T& value) {
    UpdateValues(std::span<const T>(&value, 1));
  }

  // Ends the hash; no call may follow.
  Sha256Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Sha256Digest Sha256Of(std::string_view bytes);
// 64 lower-case hexadecimal digits.
std::string ToHex(std::span<const uint8_t> bytes);
// The 32 bytes as messages carry them.
inline std::string BytesOf(const Sha256Digest& digest) { return {digest.begin(), digest.end()}; }

}  // namespace vixen::base
