// SPDX-License-Identifier: Apache-2.0
// DBN bytes made field by field, and files of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "market/dbn/reader.h"
#include "market/format.h"
#include "tests/scratch_folder.h"

namespace vixen::market {

inline constexpr uint64_t kDbnStart = 1'709'821'800'000'000'000;  // 2024-03-07T14:30Z

class DbnBytes {
 public:
  template <typename T>
  DbnBytes& Add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  DbnBytes& Text(const std::string& text, size_t width) {
    std::string padded = text;
    padded.resize(width, '\0');
    bytes_ += padded;
    return *this;
  }
  DbnBytes& Zeros(size_t count) { return Text("", count); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct DbnInterval {
  uint32_t first, end;  // YYYYMMDD
  std::string symbol;
};
struct DbnMapping {
  std::string symbol;
  std::vector<DbnInterval> intervals;
};

struct DbnHead {
  int version = 3;
  uint16_t schema = 6;  // ohlcv-1m
  std::vector<std::string> symbols = {"ESH4"};
  std::vector<DbnMapping> mappings = {};
};

inline std::string DbnMetadata(const DbnHead& head) {
  const size_t width = head.version == 1 ? 22 : 71;
  DbnBytes body;
  body.Text("GLBX.MDP3", 16).Add(head.schema).Add(kDbnStart).Add(UINT64_MAX).Add(uint64_t{0});
  if (head.version == 1) body.Add(UINT64_MAX);
  body.Add(uint8_t{1}).Add(uint8_t{0}).Add(uint8_t{0});
  if (head.version == 1) {
    body.Zeros(47);
  } else {
    body.Add(uint16_t{71}).Zeros(53);
  }
  body.Add(uint32_t{0}).Add(static_cast<uint32_t>(head.symbols.size()));
  for (const std::string& symbol : head.symbols) body.Text(symbol, width);
  body.Add(uint32_t{0}).Add(uint32_t{0}).Add(static_cast<uint32_t>(head.mappings.size()));
  for (const DbnMapping& mapping : head.mappings) {
    body.Text(mapping.symbol, width).Add(static_cast<uint32_t>(mapping.intervals.size()));
    for (const DbnInterval& interval : mapping.intervals) {
      body.Add(interval.first).Add(interval.end).Text(interval.symbol, width);
    }
  }
  if (head.version == 3) body.Zeros((8 - body.bytes().size() % 8) % 8);
  DbnBytes all;
  all.Text("DBN", 3).Add(static_cast<uint8_t>(head.version));
  all.Add(static_cast<uint32_t>(body.bytes().size()));
  return all.bytes() + body.bytes();
}

struct DbnBar {
  uint64_t minute = 0;  // since kDbnStart
  uint32_t instrument = 5602;
  uint16_t publisher = 1;
  int64_t open = 100, high = 101, low = 99, close = 100;  // whole units
  uint64_t volume = 7;
  uint8_t type = 0x21;
};

inline std::string DbnRecord(const DbnBar& bar) {
  constexpr int64_t kUnit = 1'000'000'000;
  const auto price = [](int64_t units) { return units == INT64_MAX ? INT64_MAX : units * kUnit; };
  DbnBytes record;
  record.Add(uint8_t{14}).Add(bar.type).Add(bar.publisher).Add(bar.instrument);
  record.Add(kDbnStart + bar.minute * 60'000'000'000);
  record.Add(price(bar.open)).Add(price(bar.high)).Add(price(bar.low)).Add(price(bar.close));
  return record.Add(bar.volume).bytes();
}

inline std::string DbnFile(const DbnHead& head, const std::vector<DbnBar>& bars) {
  std::string bytes = DbnMetadata(head);
  for (const DbnBar& bar : bars) bytes += DbnRecord(bar);
  return bytes;
}

inline std::string ZstdFrame(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

class DbnTest : public ::testing::Test {
 protected:
  static std::string Example(const std::string& name) {
    return std::string(std::getenv("VIXEN_SOURCE_DIR")) + "/tests/market/data/" + name;
  }

  absl::StatusOr<Bars> Read(const std::vector<std::string>& contents,
                            const DbnOptions& options = {}) {
    std::vector<std::string> paths;
    for (const std::string& bytes : contents) {
      paths.push_back(folder_.File(std::string(1, static_cast<char>('a' + paths.size())) + ".dbn"));
      std::ofstream(paths.back(), std::ios::binary) << bytes;
    }
    return ReadDbn(paths, options);
  }
  Bars Good(const std::vector<std::string>& contents, const DbnOptions& options = {}) {
    absl::StatusOr<Bars> bars = Read(contents, options);
    EXPECT_EQ(bars.status(), absl::OkStatus());
    return bars.ok() ? *std::move(bars) : Bars{};
  }
  void ExpectRefused(const std::vector<std::string>& contents, absl::StatusCode code,
                     std::initializer_list<const char*> parts, const DbnOptions& options = {}) {
    const absl::Status status = Read(contents, options).status();
    EXPECT_EQ(status.code(), code) << status;
    for (const char* part : parts) {
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(part));
    }
  }
  static std::vector<std::string> Names(const Bars& bars) {
    std::vector<std::string> names;
    for (const BarInstrument& instrument : bars.instruments) names.push_back(instrument.name);
    return names;
  }

  vixen::testing::ScratchFolder folder_;
};

}  // namespace vixen::market
