// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace vixen::base {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::vector<std::byte> RandomBytes(size_t count) {
  std::mt19937 generator(count + 1);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator());
  return bytes;
}

TEST(Crc32c, HasThePublishedCheckValues) {
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xE3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
  const std::vector<std::byte> zeros(32);
  EXPECT_EQ(Crc32c(zeros), 0x8A9136AAu);  // RFC 3720 B.4
  std::vector<std::byte> ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(Crc32c(ascending), 0x46DD794Eu);
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndAlignment) {
  const std::vector<std::byte> bytes = RandomBytes(100'000);
  // Below, at and above one word (8) and one round of three lanes (6144).
  for (size_t length : {0, 1, 7, 8, 9, 63, 6143, 6144, 6145, 12'287, 12'288, 12'300, 99'990}) {
    for (size_t offset : {0, 1, 5, 8}) {
      const auto piece = std::span<const std::byte>(bytes).subspan(offset, length);
      EXPECT_EQ(ExtendCrc32c(7, piece), internal::ExtendCrc32cPortable(7, piece))
          << "length " << length << " offset " << offset;
    }
  }
}

TEST(Crc32c, ChainsOverPieces) {
  const std::vector<std::byte> bytes = RandomBytes(30'000);
  const std::span<const std::byte> all(bytes);
  const uint32_t whole = Crc32c(all);
  for (size_t cut : {0, 1, 100, 6144, 29'999, 30'000}) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(all.first(cut)), all.subspan(cut)), whole) << "cut at " << cut;
  }
}

TEST(Crc32c, NoticesEverySingleFlippedBit) {
  std::vector<std::byte> bytes = RandomBytes(64);
  const uint32_t before = Crc32c(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_NE(Crc32c(bytes), before) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace vixen::base
