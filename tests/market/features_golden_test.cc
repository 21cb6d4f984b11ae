// SPDX-License-Identifier: Apache-2.0
// Replays a golden file of features: VIXEN_FEATURES_GOLDEN names another one of the same form.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_file.h"
#include "gtest/gtest.h"
#include "market/features.h"
#include "tests/golden/golden_folder.h"

namespace vixen::market {
namespace {

std::string GoldenPath() {
  if (const char* path = std::getenv("VIXEN_FEATURES_GOLDEN")) return path;
  return GoldenFolder() + "/features.safetensors";
}

Bars ReadBars(const base::TensorFile& file) {
  Bars bars;
  const auto read = [&](const char* name, auto& column) {
    using Value = typename std::decay_t<decltype(column)>::value_type;
    const auto values = file.Get<Value>(name, {-1});
    ASSERT_TRUE(values.ok()) << values.status();
    column.assign(values->begin(), values->end());
  };
  read("timestamp", bars.timestamp);
  read("open", bars.open);
  read("high", bars.high);
  read("low", bars.low);
  read("close", bars.close);
  read("volume", bars.volume);
  read("last", bars.last);
  return bars;
}

// Equal bits, or within 1e-9 and one float32 step: libraries round ln, sin and cos differently.
bool Agrees(float got, float wanted) {
  if (std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(wanted)) return true;
  const float step =
      std::nextafter(std::abs(wanted), std::numeric_limits<float>::infinity()) - std::abs(wanted);
  return std::abs(double{got} - double{wanted}) <= 1e-9 + double{step};
}

TEST(FeaturesGolden, EveryValueOfEverySegmentAgrees) {
  const auto file = base::TensorFile::Open(GoldenPath());
  ASSERT_TRUE(file.ok()) << file.status();
  const Bars bars = ReadBars(*file);
  const auto wanted =
      file->Get<float>("features", {static_cast<int64_t>(bars.size()), kFeatureCount});
  ASSERT_TRUE(wanted.ok()) << wanted.status();

  const auto rows = ComputeFeatures(bars, kLeastWarmUp);
  ASSERT_TRUE(rows.ok()) << rows.status();
  size_t expected_rows = 0;
  for (size_t bar = 0; bar < bars.size(); ++bar) {
    expected_rows += std::isnan((*wanted)[bar * kFeatureCount]) ? 0 : 1;
  }
  ASSERT_GT(expected_rows, 0u);
  ASSERT_EQ(rows->bar.size(), expected_rows);

  size_t equal_bits = 0;
  for (size_t row = 0; row < rows->bar.size(); ++row) {
    for (size_t i = 0; i < kFeatureCount; ++i) {
      const float got = rows->features[row * kFeatureCount + i];
      const float want = (*wanted)[rows->bar[row] * kFeatureCount + i];
      EXPECT_TRUE(Agrees(got, want)) << FeatureNames()[i] << " at bar " << rows->bar[row] << ": "
                                     << got << ", wanted " << want;
      equal_bits += std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want) ? 1 : 0;
    }
  }
  RecordProperty("values_with_equal_bits", std::to_string(equal_bits));
  EXPECT_GE(equal_bits, rows->features.size() * 99 / 100);
}

}  // namespace
}  // namespace vixen::market
