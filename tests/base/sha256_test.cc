// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vixen::base {
namespace {

// Expected values: FIPS 180-4 examples.
TEST(Sha256, HashesTheEmptyString) {
  EXPECT_EQ(ToHex(Sha256Of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, HashesTheStandardsExample) {
  EXPECT_EQ(ToHex(Sha256Of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  const std::string text(1'000'000, 'a');
  Sha256 hash;
  hash.Update(std::string_view(text).substr(0, 63));
  hash.Update("");
  hash.Update(std::string_view(text).substr(63));
  EXPECT_EQ(ToHex(hash.Finish()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, TakesNumbersAsTheirLittleEndianBytes) {
  const std::vector<uint32_t> values = {0x64636261, 0x68676665};  // "abcd", "efgh"
  Sha256 hash;
  hash.UpdateValues(std::span<const uint32_t>(values));
  hash.UpdateValue(uint16_t{0x6a69});  // "ij"
  EXPECT_EQ(hash.Finish(), Sha256Of("abcdefghij"));
}

}  // namespace
}  // namespace vixen::base
