// SPDX-License-Identifier: Apache-2.0
// Numbers of Databento's binary encoding (DBN), versions 1 to 3. All integers are little-endian and
// stand at any byte: they are copied out, never cast.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace vixen::market::dbn {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T Load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline constexpr size_t kRecordHeaderBytes = 16;
inline constexpr size_t kOhlcvBytes = 56;
inline constexpr int64_t kUndefinedPrice = INT64_MAX;
inline constexpr uint64_t kUndefinedTime = UINT64_MAX;
inline constexpr double kPriceUnit = 1e9;  // prices are integers in 1e-9

inline constexpr uint16_t kMixedSchema = 0xFFFF;
inline constexpr uint8_t kInstrumentId = 0;  // symbology type

enum RecordType : uint8_t {
  kMbp10 = 0x0A,
  kOhlcvOld = 0x11,  // the interval is not said
  kSymbolMapping = 0x16,
  kOhlcv1s = 0x20,
  kOhlcv1m = 0x21,
  kOhlcv1h = 0x22,
  kOhlcv1d = 0x23,
  kOhlcvEod = 0x24,
};

constexpr bool IsOhlcv(uint8_t type) {
  return type == kOhlcvOld || (type >= kOhlcv1s && type <= kOhlcvEod);
}

// "ohlcv-1m", "mbp-10", …; "unknown" for a number that is none.
std::string SchemaName(uint16_t schema);
// "0x21 ohlcv-1m", "0x7E unknown".
std::string RecordTypeName(uint8_t type);

}  // namespace vixen::market::dbn
