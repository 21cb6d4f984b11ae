// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/str_cat.h"
#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// The bytes of a file with this header and `region` bytes 0, 1, 2, … of tensor data.
std::string FileOf(const std::string& json, size_t region) {
  const uint64_t length = json.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += json;
  for (size_t i = 0; i < region; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

// The fault that parsing names; "" when it parses.
std::string FaultOf(const std::string& bytes) {
  const auto file = TensorFile::Parse(Bytes(bytes), "f.safetensors");
  if (file.ok()) return "";
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("f.safetensors: "));
  EXPECT_EQ(file.status().message().find('\n'), absl::string_view::npos);
  return std::string(file.status().message());
}

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                ",\"data_offsets\":", offsets, "}");
}

// A header of these parts.
template <typename... Parts>
std::string Header(const std::string& first, const Parts&... parts) {
  return StrCat("{", first, StrCat(",", parts)..., "}");
}

TEST(TensorFile, GivesTensorsMetadataAndValues) {
  const std::string bytes =
      FileOf(Header("\"__metadata__\":{\"format\":\"x\"}", Tensor("b", "U8", "[2,2]", "[8,12]"),
                    Tensor("a", "U32", "[2]", "[0,8]")),
             12);
  const auto file = TensorFile::Parse(Bytes(bytes), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->source(), "f");
  EXPECT_EQ(file->metadata().at("format"), "x");
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->tensors()[0].name, "a");  // by place, not by order in the header
  EXPECT_EQ(file->tensors()[1].Describe(), "U8 [2, 2]");
  EXPECT_EQ(file->Find("b")->elements(), 4);
  EXPECT_EQ(file->Find("c"), nullptr);
  const auto a = file->Get<uint32_t>("a", {2});
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_THAT(*a, ElementsAre(0x03020100u, 0x07060504u));
  EXPECT_THAT(file->Get<uint8_t>("b", {-1, 2}).value(), ElementsAre(8, 9, 10, 11));
}

TEST(TensorFile, AcceptsEveryDType) {
  for (const auto& [name, width] : std::vector<std::pair<std::string, int>>{{"BOOL", 1},
                                                                            {"U8", 1},
                                                                            {"I8", 1},
                                                                            {"U16", 2},
                                                                            {"I16", 2},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"U32", 4},
                                                                            {"I32", 4},
                                                                            {"F32", 4},
                                                                            {"U64", 8},
                                                                            {"I64", 8},
                                                                            {"F64", 8}}) {
    const std::string end = std::to_string(3 * width);
    const auto bytes = FileOf(Header(Tensor("t", name, "[3]", StrCat("[0,", end, "]"))), 3 * width);
    const auto file = TensorFile::Parse(Bytes(bytes), "f");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->tensors()[0].Describe(), name + " [3]");
    EXPECT_EQ(DTypeBytes(file->tensors()[0].dtype), static_cast<size_t>(width));
  }
}

TEST(TensorFile, AcceptsEmptyTensorsScalarsAndNoTensors) {
  const std::string bytes = FileOf(
      Header(Tensor("none", "F32", "[0,4]", "[4,4]"), Tensor("one", "F32", "[]", "[0,4]")) + "  ",
      4);
  const auto file = TensorFile::Parse(Bytes(bytes), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Get<float>("none", {0, 4}).value().size(), 0u);
  EXPECT_EQ(file->Get<float>("one", {}).value().size(), 1u);
  EXPECT_EQ(FaultOf(FileOf("{}", 0)), "");
}

TEST(TensorFile, AlignsValuesWhereverTheBytesLie) {
  const std::string content =
      FileOf(Header(Tensor("x", "U8", "[1]", "[0,1]"), Tensor("d", "F64", "[2]", "[1,17]")), 17);
  for (size_t shift = 0; shift < 8; ++shift) {
    std::vector<std::byte> storage(content.size() + shift + 8);
    std::memcpy(storage.data() + shift, content.data(), content.size());
    const auto file =
        TensorFile::Parse(std::span<const std::byte>(storage).subspan(shift, content.size()), "f");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto values = file->Get<double>("d", {2});
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(values->data()) % 8, 0u);
    EXPECT_EQ(std::memcmp(values->data(), content.data() + content.size() - 16, 16), 0);
  }
}

TEST(TensorFile, GetNamesWhatWasExpectedAndWhatIsThere) {
  const std::string bytes = FileOf(Header(Tensor("x", "F32", "[2,3]", "[0,24]")), 24);
  const auto file = TensorFile::Parse(Bytes(bytes), "f.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  const auto missing = file->Get<float>("y", {2}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("f.safetensors: tensor \"y\" is missing"));
  const auto dtype = file->Get<double>("x", {2, 3}).status();
  EXPECT_EQ(dtype.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(dtype.message()), HasSubstr("expected F64 [2, 3], found F32 [2, 3]"));
  const auto shape = file->Get<float>("x", {-1, 4}).status();
  EXPECT_EQ(shape.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shape.message()), HasSubstr("expected F32 [any, 4], found F32 [2, 3]"));
  EXPECT_EQ(file->Get<float>("x", {6}).status().code(), absl::StatusCode::kInvalidArgument);
}

struct BadFile {
  std::string what;
  std::string bytes;
  std::string fault;
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.what; }

std::vector<BadFile> BadFiles() {
  const auto one = [](const std::string& dtype, const std::string& shape,
                      const std::string& offsets, size_t region) {
    return FileOf(Header(Tensor("x", dtype, shape, offsets)), region);
  };
  const auto json = [](const std::string& text) { return FileOf(text, 0); };
  std::string huge_header(64, '\xff');
  std::string large_header(16, '\0');
  const uint64_t length = 100'000'001;
  std::memcpy(large_header.data(), &length, 8);
  return {
      {"empty", "", "0 bytes are too few"},
      {"seven bytes", "1234567", "7 bytes are too few"},
      {"header length beyond everything", huge_header, "header length 18446744073709551615"},
      {"header length above the cap", large_header, "header length 100000001"},
      {"cut inside the header", FileOf("{}", 0).substr(0, 9), "header length 2 above the 1 bytes"},
      {"no header", json(""), "does not begin with {"},
      {"space first", json(" {}"), "does not begin with {"},
      {"an array", json("[]"), "does not begin with {"},
      {"not JSON", json("{x"), "not JSON at header byte"},
      {"cut JSON", json("{\"a\":{"), "not JSON"},
      {"something after the object", json("{}{}"), "not JSON"},
      {"zero bytes after the object", json(std::string("{}\0", 3)), "not JSON"},
      {"not UTF-8", json("{\"\xff\":{}}"), "not JSON"},
      {"newline in a name", json("{\"a\\nb\":1}"), "\"a\\nb\": expected an object, found a number"},
      {"number for a tensor", json("{\"x\":1}"), "\"x\": expected an object, found a number"},
      {"null for a tensor", json("{\"x\":null}"), "found null"},
      {"string for a tensor", json("{\"x\":\"y\"}"), "found a string"},
      {"array for a tensor", json("{\"x\":[]}"), "found an array"},
      {"tensor twice",
       FileOf(Header(Tensor("x", "U8", "[0]", "[0,0]"), Tensor("x", "U8", "[0]", "[0,0]")), 0),
       "\"x\" is there twice"},
      {"metadata twice", json("{\"__metadata__\":{},\"__metadata__\":{}}"),
       "\"__metadata__\" is there twice"},
      {"metadata key twice", json("{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}"),
       "metadata \"a\" is there twice"},
      {"metadata number", json("{\"__metadata__\":{\"a\":1}}"),
       "metadata \"a\": expected a string"},
      {"metadata object", json("{\"__metadata__\":{\"a\":{}}}"),
       "metadata \"a\": expected a string"},
      {"dtype twice", json("{\"x\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"), "dtype is there twice"},
      {"shape twice", json("{\"x\":{\"shape\":[],\"shape\":[]}}"), "shape is there twice"},
      {"offsets twice", json("{\"x\":{\"data_offsets\":[0,0],\"data_offsets\":[0,0]}}"),
       "data_offsets is there twice"},
      {"unknown key", json("{\"x\":{\"stride\":[1]}}"), "tensor \"x\": unknown key \"stride\""},
      {"unknown dtype", one("F8_E4M3", "[0]", "[0,0]", 0), "unknown dtype \"F8_E4M3\""},
      {"dtype number", json("{\"x\":{\"dtype\":1}}"), "dtype: expected a string, found a number"},
      {"no dtype", json("{\"x\":{\"shape\":[0],\"data_offsets\":[0,0]}}"), "has no dtype"},
      {"no shape", json("{\"x\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}"), "has no shape"},
      {"no offsets", json("{\"x\":{\"dtype\":\"U8\",\"shape\":[0]}}"), "has no data_offsets"},
      {"shape string", one("U8", "\"3\"", "[0,3]", 3), "shape: expected an array, found a string"},
      {"negative length", one("U8", "[-1]", "[0,1]", 1),
       "expected a number ≥ 0, found the number -1"},
      {"length with a point", one("U8", "[1.0]", "[0,1]", 1), "found the number 1.0"},
      {"length beyond i64", one("U8", "[9223372036854775808]", "[0,1]", 1),
       "9223372036854775808 is too large"},
      {"length beyond f64", one("U8", "[1e999]", "[0,1]", 1), "not JSON"},
      {"length array", one("U8", "[[1]]", "[0,1]", 1), "found an array"},
      {"length object", one("U8", "[{}]", "[0,1]", 1), "found an object"},
      {"too many axes", one("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]", 1),
       "more than 16 axes"},
      {"shape overflow", one("U8", "[4294967296,4294967296]", "[0,0]", 0),
       "the shape's size overflows"},
      {"byte overflow", one("F64", "[4611686018427387904]", "[0,0]", 0),
       "the shape's size overflows"},
      {"one offset", one("U8", "[1]", "[0]", 1), "has 1 data_offsets"},
      {"three offsets", one("U8", "[1]", "[0,1,1]", 1), "more than 2 data_offsets"},
      {"begin above end", one("U8", "[1]", "[1,0]", 1), "data_offsets [1, 0) outside"},
      {"end outside", one("U8", "[2]", "[0,2]", 1), "data_offsets [0, 2) outside the 1 bytes"},
      {"size of the shape", one("F32", "[2]", "[0,4]", 4),
       "needs 8 bytes, data_offsets [0, 4) hold 4"},
      {"hole at the start", one("U8", "[1]", "[1,2]", 2), "leave a hole after 0"},
      {"hole inside",
       FileOf(Header(Tensor("x", "U8", "[1]", "[0,1]"), Tensor("y", "U8", "[1]", "[2,3]")), 3),
       "tensor \"y\" U8 [1]: data_offsets [2, 3) leave a hole after 1"},
      {"overlap",
       FileOf(Header(Tensor("x", "U8", "[2]", "[0,2]"), Tensor("y", "U8", "[2]", "[1,3]")), 3),
       "tensor \"y\" U8 [2]: data_offsets [1, 3) overlap"},
      {"same place",
       FileOf(Header(Tensor("x", "U8", "[2]", "[0,2]"), Tensor("y", "U8", "[2]", "[0,2]")), 2),
       "overlap"},
      {"bytes at the end", one("U8", "[1]", "[0,1]", 3),
       "2 bytes after the last tensor's end at 1"},
      {"no tensor but bytes", FileOf("{}", 1), "1 bytes after the last tensor's end at 0"},
  };
}

class TensorFileRefuses : public ::testing::TestWithParam<BadFile> {};

TEST_P(TensorFileRefuses, AndNamesTheFault) {
  EXPECT_THAT(FaultOf(GetParam().bytes), HasSubstr(GetParam().fault));
}

INSTANTIATE_TEST_SUITE_P(Files, TensorFileRefuses, ::testing::ValuesIn(BadFiles()));

TEST(TensorFile, DoesNotRunOutOfStackOnDeepNesting) {
  for (const std::string open : {"[", "{\"a\":", "{\"x\":["}) {
    std::string json = "{\"x\":";
    while (json.size() < 4'000'000) json += open;
    EXPECT_NE(FaultOf(FileOf(json, 0)), "");
  }
}

TEST(TensorFile, SurvivesEveryFlippedByteAndEveryCut) {
  const std::string good =
      FileOf(Header("\"__metadata__\":{\"k\":\"v\"}", Tensor("a", "F32", "[2]", "[0,8]"),
                    Tensor("b", "U8", "[3]", "[8,11]")),
             11);
  std::mt19937 generator(5);
  for (size_t place = 0; place < good.size(); ++place) {
    for (int i = 0; i < 8; ++i) {
      std::string bytes = good;
      bytes[place] = static_cast<char>(generator());
      const auto file = TensorFile::Parse(Bytes(bytes), "f");
      if (!file.ok()) continue;
      for (const TensorView& tensor : file->tensors()) {
        EXPECT_EQ(tensor.bytes.size(), tensor.elements() * DTypeBytes(tensor.dtype));
      }
    }
    EXPECT_NE(FaultOf(good.substr(0, place)), "") << "cut at " << place;
  }
}

TEST(TensorFile, OpenNamesTheMissingFile) {
  testing::ScratchFolder scratch;
  const auto file = TensorFile::Open(scratch.File("missing"));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr(scratch.File("missing")));
}

TEST(TensorFile, OpenRefusesFoldersDevicesAndEmptyFiles) {
  testing::ScratchFolder scratch;
  EXPECT_EQ(TensorFile::Open(scratch.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TensorFile::Open("/dev/zero").status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(scratch.File("empty"), "").ok());
  EXPECT_EQ(TensorFile::Open(scratch.File("empty")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TensorFile, ReadsTheGoldenFiles) {
  const char* source = std::getenv("VIXEN_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "VIXEN_SOURCE_DIR is not set; ctest sets it";
  for (const char* name : {"features", "greedy", "narrow", "wide"}) {
    const auto file =
        TensorFile::Open(std::string(source) + "/tests/golden/" + name + ".safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_FALSE(file->tensors().empty());
  }
}

TEST(TensorFile, RefusesWhatIsNoRegularFileAtOnce) {
  const vixen::testing::ScratchFolder scratch;
  ASSERT_EQ(mkfifo(scratch.File("pipe").c_str(), 0600), 0);  // an open for reading would wait
  for (const std::string& path : {scratch.File("pipe"), scratch.path().string()}) {
    const absl::Status status = TensorFile::Open(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), ::testing::HasSubstr(path + ": not a regular file"));
  }
}

}  // namespace
}  // namespace vixen::base
