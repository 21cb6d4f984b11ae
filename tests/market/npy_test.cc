// SPDX-License-Identifier: Apache-2.0
#include "market/npy/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/exit_code.h"
#include "base/file.h"
#include "market/bar_check.h"
#include "market/format.h"
#include "market/import.h"
#include "tests/market/example_bars.h"
#include "tests/scratch_folder.h"

namespace vixen::market {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A 1-D or 2-D array as NumPy writes it.
template <typename T>
std::string Npy(const std::string& type, const std::string& shape, const std::vector<T>& values,
                const std::string& order = "False") {
  std::string header =
      "{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

class NpyTest : public ::testing::Test {
 protected:
  // A file that NumPy wrote (tests/market/data).
  static std::string Example(const std::string& name) {
    return std::string(std::getenv("VIXEN_SOURCE_DIR")) + "/tests/market/data/" + name;
  }
  std::string File(const std::string& bytes) {
    const std::string path = folder_.File(std::to_string(files_++) + ".npy");
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static Bars Good(const std::string& path, const NpyOptions& options = {}) {
    auto bars = ReadNpy({path}, options);
    EXPECT_EQ(bars.status(), absl::OkStatus());
    if (!bars.ok()) return {};
    EXPECT_EQ(ValidateBars(*bars), absl::OkStatus());
    return *std::move(bars);
  }
  static void ExpectRefused(const absl::Status& status, StatusCode code, const char* part) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }

  vixen::testing::ScratchFolder folder_;
  int files_ = 0;
};

TEST_F(NpyTest, ArchivesStoredAndDeflated) {
  for (const char* name : {"bars.npz", "bars.deflated.npz"}) {
    const Bars bars = Good(Example(name));
    ASSERT_EQ(bars.size(), 6u) << name;
    EXPECT_EQ(FormatUtc(bars.timestamp[0]), "2024-01-02T14:30:00Z");
    EXPECT_EQ(FormatUtc(bars.timestamp[5]), "2024-01-02T14:35:00Z");
    EXPECT_EQ(bars.open[5], 101);
    EXPECT_EQ(bars.high[0], 101);
    EXPECT_EQ(bars.low[0], 99);
    EXPECT_EQ(bars.close[0], 100.5);
    EXPECT_THAT(bars.volume, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_TRUE(bars.has_volume);
  }
}

TEST_F(NpyTest, RecordsWithSymbolsBecomeSegments) {
  const Bars bars = Good(Example("bars.records.npy"));
  EXPECT_EQ(bars.metadata.at("symbols"), "A,B");
  EXPECT_THAT(bars.last, ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_THAT(bars.volume, ElementsAre(1, 2, 6, 3, 4, 5));
  NpyOptions options;
  options.symbols = {"B"};
  const Bars only = Good(Example("bars.records.npy"), options);
  EXPECT_THAT(only.volume, ElementsAre(3, 4, 5));
  EXPECT_EQ(only.left_out.at("rows of other instruments"), 3u);
}

TEST_F(NpyTest, AMatrixInEitherOrderNeedsItsColumnsNamed) {
  NpyOptions options;
  ExpectRefused(ReadNpy({Example("bars.fortran.npy")}, options).status(),
                StatusCode::kInvalidArgument, "no array or field for time, open, high, low, close");
  options.columns = {{"time", "1"}, {"open", "2"},  {"high", "3"},
                     {"low", "4"},  {"close", "5"}, {"volume", "6"}};
  const Bars bars = Good(Example("bars.fortran.npy"), options);
  EXPECT_EQ(FormatUtc(bars.timestamp[5]), "2024-01-02T14:35:00Z");
  EXPECT_EQ(bars.close[5], 101.5);
  const Bars rows = Good(
      File(Npy<double>("'<f8'", "(2, 5)", {1e9, 1, 2, 1, 2, 1e9 + 60, 2, 3, 2, 3})),
      {.columns = {{"time", "1"}, {"open", "2"}, {"high", "3"}, {"low", "4"}, {"close", "5"}}});
  EXPECT_THAT(rows.close, ElementsAre(2, 3));
  EXPECT_FALSE(rows.has_volume);
}

TEST_F(NpyTest, WhatIsNoNumberIsRefused) {
  ExpectRefused(ReadNpy({Example("objects.npy")}, {}).status(), StatusCode::kInvalidArgument,
                "Python objects");
  ExpectRefused(ReadNpy({Example("big-endian.npy")}, {}).status(), StatusCode::kInvalidArgument,
                "big-endian");
  for (const char* type : {"'<f2'", "'<c16'", "'<i3'", "'<M8[Y]'", "'<M8'", "''", "'<'", "'<fx'",
                           "[('a', '<f8', (2,))]", "[('a', [('b', '<f8')])]"}) {
    ExpectRefused(ReadNpy({File(Npy<double>(type, "(1,)", {1}))}, {}).status(),
                  StatusCode::kInvalidArgument, "the array's header");
  }
}

TEST_F(NpyTest, HeadersThatAreNotNumPysAreRefused) {
  for (const char* shape :
       {"(1", "1", "(,)", "(-1,)", "(1,1,1,1,1,1,1,1,1,1,)", "(99999999999999999999,)"}) {
    const absl::Status status = ReadNpy({File(Npy<double>("'<f8'", shape, {1}))}, {}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << shape;
  }
  ExpectRefused(ReadNpy({File(Npy<double>("'<f8'", "(3,)", {1, 2}))}, {}).status(),
                StatusCode::kDataLoss, "float64 [3] asks for 24 bytes of values, there are 16");
  ExpectRefused(ReadNpy({File(Npy<double>("'<f8'", "(4294967296, 4294967296)", {1}))}, {}).status(),
                StatusCode::kDataLoss, "asks for");
  ExpectRefused(ReadNpy({File(Npy<double>("'<f8'", "(0,)", {}))}, {}).status(),
                StatusCode::kInvalidArgument, "without values");
  ExpectRefused(ReadNpy({File("time,open\n1,2\n")}, {}).status(), StatusCode::kInvalidArgument,
                "is no NPY array");
}

TEST_F(NpyTest, AnArchiveCutOrChangedAnywhereIsNeverReadAsSomethingElse) {
  for (const char* name : {"bars.npz", "bars.deflated.npz"}) {
    const std::string whole = base::ReadFile(Example(name)).value();
    const std::string path = folder_.File("damaged.npz");
    for (size_t size = 2; size < whole.size(); size += 37) {
      std::ofstream(path, std::ios::binary) << whole.substr(0, size);
      EXPECT_FALSE(ReadNpy({path}, {}).ok()) << name << " " << size;
    }
    const Bars right = Good(Example(name));
    for (size_t at = 0; at < whole.size(); at += 11) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 0x5A);
      std::ofstream(path, std::ios::binary) << changed;
      // Dates and attributes of the archive may change; the values may not.
      const auto bars = ReadNpy({path}, {});
      if (bars.ok()) {
        EXPECT_EQ(bars->close, right.close) << name << " " << at;
      }
    }
  }
}

// bars as records of int64 time and float64 prices.
std::string Records(const std::vector<std::array<double, 5>>& rows) {
  std::string values;
  for (const auto& row : rows) {
    const int64_t time = static_cast<int64_t>(row[0]);
    values.append(reinterpret_cast<const char*>(&time), 8);
    values.append(reinterpret_cast<const char*>(&row[1]), 32);
  }
  return Npy<char>(
      "[('time', '<i8'), ('open', '<f8'), ('high', '<f8'), ('low', '<f8'), ('close', '<f8')]",
      "(" + std::to_string(rows.size()) + ",)", {values.begin(), values.end()});
}

TEST_F(NpyTest, RowsThatAreNoBarsAreRefusedByRowTimeFieldAndValue) {
  const double nan = std::nan("");
  const std::string path =
      File(Records({{60, 1, 1, 1, 1}, {120, 1, 1, nan, 1}, {180, 1, 1, 1, 1}}));
  ExpectRefused(ReadNpy({path}, {}).status(), StatusCode::kInvalidArgument,
                "row 1, time 1970-01-01T00:02:00Z: low = nan is not finite");
  NpyOptions options;
  options.missing = Missing::kSegment;
  EXPECT_THAT(Good(path, options).last, ElementsAre(1, 1));
  options.missing = Missing::kDrop;
  EXPECT_THAT(Good(path, options).last, ElementsAre(0, 1));
  ExpectRefused(ReadNpy({File(Records({{60, 1, 1, -40.32, 1}}))}, options).status(),
                StatusCode::kInvalidArgument, "low = -40.32 is not above 0");
}

TEST_F(NpyTest, EqualAndFallingTimes) {
  const std::string path = File(Records({{60, 1, 1, 1, 1}, {120, 1, 1, 1, 1}, {120, 2, 2, 2, 2}}));
  ExpectRefused(ReadNpy({path}, {}).status(), StatusCode::kInvalidArgument,
                "row 2, time 1970-01-01T00:02:00Z: the time of row 1");
  NpyOptions options;
  options.duplicates = Duplicates::kLast;
  EXPECT_THAT(Good(path, options).close, ElementsAre(1, 2));
  options.duplicates = Duplicates::kSegment;
  EXPECT_THAT(Good(path, options).last, ElementsAre(0, 1, 1));
  ExpectRefused(ReadNpy({File(Records({{120, 1, 1, 1, 1}, {60, 1, 1, 1, 1}}))}, options).status(),
                StatusCode::kInvalidArgument, "lies before");
}

TEST_F(NpyTest, TimesOfOneUnitOnly) {
  ExpectRefused(
      ReadNpy({File(Records({{1735689540, 1, 1, 1, 1}, {1735689600000, 1, 1, 1, 1}}))}, {})
          .status(),
      StatusCode::kInvalidArgument, "in another unit");
}

TEST_F(NpyTest, FeaturesKeepTheirNames) {
  const OwnFeatures features = ReadOwnFeatures(Example("bars.deflated.npz"), {}).value();
  EXPECT_THAT(features.names, ElementsAre("alpha", "größe"));
  ASSERT_EQ(features.values.size(), 12u);
  EXPECT_EQ(features.values[11], 102);
  EXPECT_EQ(features.timestamp.size(), 6u);
  EXPECT_EQ(CheckOwnFeatures(features, Good(Example("bars.npz"))), absl::OkStatus());

  const std::string records =
      File(Npy<double>("[('a', '<f8'), ('b', '<f8')]", "(2,)", {1, 2, 3, 4}));
  EXPECT_THAT(ReadOwnFeatures(records, {}).value().names, ElementsAre("a", "b"));
  EXPECT_THAT(ReadOwnFeatures(records, {}).value().values, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(base::IsUsageError(ReadOwnFeatures(records, {"x", "y"}).status()));

  const std::string matrix = File(Npy<float>("'<f4'", "(2, 2)", {1, 2, 3, 4}, "True"));
  EXPECT_THAT(ReadOwnFeatures(matrix, {"x", "y"}).value().values, ElementsAre(1, 3, 2, 4));
  ExpectRefused(ReadOwnFeatures(matrix, {"x"}).status(), StatusCode::kInvalidArgument,
                "2 columns of features and 1 names");
  ExpectRefused(ReadOwnFeatures(File(Npy<float>("'<f4'", "(2,)", {1, 2})), {"x"}).status(),
                StatusCode::kInvalidArgument, "features are a 2-D array");
  ExpectRefused(ReadOwnFeatures(File(Npy<char>("'|b1'", "(1, 1)", {1})), {"x"}).status(),
                StatusCode::kInvalidArgument, "bool [1, 1]");
}

TEST_F(NpyTest, FeaturesThatDoNotFitTheBarsAreRefused) {
  const Bars bars = Good(Example("bars.npz"));
  OwnFeatures features{"f.npy", {"a", "rsi14"}, std::vector<float>(12, 1.0f), {}};
  EXPECT_EQ(CheckOwnFeatures(features, bars), absl::OkStatus());
  features.values[7] = std::numeric_limits<float>::infinity();
  ExpectRefused(CheckOwnFeatures(features, bars), StatusCode::kInvalidArgument,
                "row 3 rsi14 = inf");
  features.values.assign(10, 1.0f);
  ExpectRefused(CheckOwnFeatures(features, bars), StatusCode::kInvalidArgument,
                "has 5 rows of features for 6 bars");
  features.values.assign(12, 1.0f);
  features.timestamp = bars.timestamp;
  features.timestamp[2] += 1;
  ExpectRefused(CheckOwnFeatures(features, bars), StatusCode::kInvalidArgument, "row 2 is of");
  features.timestamp.clear();
  features.names[1] = "a";
  ExpectRefused(CheckOwnFeatures(features, bars), StatusCode::kInvalidArgument, "occurs twice");
}

TEST_F(NpyTest, ADatasetOfOwnFeaturesHasARowABarAndTheirNames) {
  const Bars bars = RandomBars(3, 2, 10);
  OwnFeatures features{"f.npy", {"up", "down"}, {}, bars.timestamp};
  for (size_t i = 0; i < 20; ++i) {
    features.values.push_back(static_cast<float>(i));
    features.values.push_back(-static_cast<float>(i));
  }
  ImportOptions options;
  options.own_features = features;
  options.raw = true;
  const std::string path = folder_.File("d.safetensors");
  ASSERT_EQ(ImportBars(bars, options, path).status(), absl::OkStatus());
  auto dataset = Dataset::Load(path).value();
  EXPECT_EQ(dataset->bars(), 20u);
  EXPECT_THAT(dataset->feature_names(), ElementsAre("up", "down"));
  EXPECT_EQ(dataset->features()[39], -19);
  EXPECT_EQ(dataset->metadata().at("features_from"), "f.npy");
  options.warm_up = 3;
  options.raw = false;
  options.split = SplitPoint{std::nullopt, 0.5};
  ASSERT_EQ(ImportBars(bars, options, path).status(), absl::OkStatus());
  dataset = Dataset::Load(path).value();
  EXPECT_EQ(dataset->bars(), 14u);
  EXPECT_EQ(*dataset->train_rows(), 7u);
  EXPECT_NEAR(dataset->scaler().mean[0], 6, 1e-12);
}

}  // namespace
}  // namespace vixen::market
