// SPDX-License-Identifier: Apache-2.0
#include "base/exit_code.h"
#include "market/bar_check.h"
#include "tests/market/dbn_fixture.h"

namespace vixen::market {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Dbn : public DbnTest {};

TEST_F(Dbn, InterleavedInstrumentsBecomeSegmentsInOrderOfAppearance) {
  const Bars bars = Good({DbnFile({.symbols = {}}, {{.minute = 0, .instrument = 9},
                                                    {.minute = 0, .instrument = 4},
                                                    {.minute = 1, .instrument = 9},
                                                    {.minute = 1, .instrument = 4}})});
  EXPECT_THAT(Names(bars), ElementsAre("9", "4"));
  EXPECT_THAT(bars.last, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(ValidateBars(bars), absl::OkStatus());
}

TEST_F(Dbn, ALaterFileContinuesTheInstrument) {
  const Bars bars = Good({DbnFile({}, {{.minute = 0}, {.minute = 1}}),
                          ZstdFrame(DbnFile({.version = 1}, {{.minute = 2}}))});
  EXPECT_THAT(Names(bars), ElementsAre("ESH4"));
  EXPECT_THAT(bars.last, ElementsAre(0, 0, 1));
}

TEST_F(Dbn, MappingsNameInstrumentsForTheirDays) {
  const DbnHead head = {
      .symbols = {"ES.c.0", "NQH4"},
      .mappings = {{"ES.c.0", {{20240301, 20240308, "5602"}, {20240308, 20240401, "7000"}}},
                   {"NQH4", {{20240301, 20240401, "88"}}}}};
  const uint64_t day = 1440;
  const std::string file = DbnFile(head, {{.minute = 0, .instrument = 5602},
                                          {.minute = 0, .instrument = 88},
                                          {.minute = 1, .instrument = 5602},
                                          {.minute = day, .instrument = 7000},
                                          {.minute = day, .instrument = 88},
                                          {.minute = day + 1, .instrument = 7000}});
  const Bars bars = Good({file});
  EXPECT_THAT(Names(bars), ElementsAre("ES.c.0", "NQH4", "ES.c.0"));
  EXPECT_THAT(bars.last, ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_EQ(bars.metadata.at("symbols"), "ES.c.0,NQH4");

  DbnOptions options;
  options.symbols = {"ES.c.0"};
  const Bars one = Good({file}, options);
  EXPECT_THAT(Names(one), ElementsAre("ES.c.0", "ES.c.0"));
  EXPECT_EQ(one.left_out.at("records of other instruments"), 2u);
  options.symbols = {"88"};
  EXPECT_THAT(Names(Good({file}, options)), ElementsAre("NQH4"));
  options.symbols = {"CLH4"};
  ExpectRefused({file}, StatusCode::kInvalidArgument,
                {"no bar is left of instrument CLH4", "found: ES.c.0, NQH4"}, options);
}

TEST_F(Dbn, AnInstrumentThatComesBackAfterARollBeginsAnotherSegment) {
  const DbnHead head = {
      .symbols = {"ES.c.0"},
      .mappings = {
          {"ES.c.0",
           {{20240307, 20240308, "1"}, {20240308, 20240309, "2"}, {20240309, 20240310, "1"}}}}};
  const Bars bars = Good({DbnFile(head, {{.minute = 0, .instrument = 1},
                                         {.minute = 1440, .instrument = 2},
                                         {.minute = 2880, .instrument = 1}})});
  EXPECT_THAT(bars.last, ElementsAre(1, 1, 1));
}

TEST_F(Dbn, DailyFilesOfOneMappingAreOneSegment) {
  const auto file = [](uint32_t first, uint32_t end, uint64_t minute) {
    return DbnFile({.symbols = {"ES.c.0"}, .mappings = {{"ES.c.0", {{first, end, "5602"}}}}},
                   {{.minute = minute}});
  };
  EXPECT_THAT(Good({file(20240307, 20240308, 0), file(20240308, 20240309, 1440)}).last,
              ElementsAre(0, 1));
}

TEST_F(Dbn, AParentSymbolsInstrumentsStayApart) {
  const DbnHead head = {
      .symbols = {"ES.FUT"},
      .mappings = {{"ES.FUT", {{20240301, 20240401, "1"}, {20240301, 20240401, "2"}}}}};
  const Bars bars = Good({DbnFile(head, {{.minute = 0, .instrument = 1},
                                         {.minute = 0, .instrument = 2},
                                         {.minute = 1, .instrument = 1}})});
  EXPECT_THAT(Names(bars), ElementsAre("ES.FUT/1", "ES.FUT/2"));
}

TEST_F(Dbn, TwoPublishersOfOneInstrumentAreRefusedUntilOneIsChosen) {
  const std::string file = DbnFile({}, {{.publisher = 1}, {.minute = 1, .publisher = 39}});
  const absl::Status status = Read({file}).status();
  EXPECT_TRUE(base::IsUsageError(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ESH4 comes from publishers 1 and 39"));
  DbnOptions options;
  options.publisher = 39;
  const Bars bars = Good({file}, options);
  EXPECT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars.left_out.at("records of other publishers"), 1u);
}

TEST_F(Dbn, EqualTimesAreRefusedWithBothRecordsOrResolvedAsAsked) {
  const std::string file = DbnFile(
      {}, {{.minute = 0}, {.minute = 1, .close = 100}, {.minute = 1, .close = 101}, {.minute = 2}});
  ExpectRefused({file}, StatusCode::kInvalidArgument,
                {"a.dbn: record 2, time 2024-03-07T14:31:00Z", "record 1", "--duplicates"});
  DbnOptions options;
  options.duplicates = Duplicates::kFirst;
  EXPECT_THAT(Good({file}, options).close, ElementsAre(100, 100, 100));
  options.duplicates = Duplicates::kLast;
  const Bars last = Good({file}, options);
  EXPECT_THAT(last.close, ElementsAre(100, 101, 100));
  EXPECT_EQ(last.left_out.at("bars of a repeated time"), 1u);
  options.duplicates = Duplicates::kSegment;
  const Bars segments = Good({file}, options);
  EXPECT_THAT(segments.last, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(ValidateBars(segments), absl::OkStatus());
}

TEST_F(Dbn, FallingTimesAreAlwaysRefusedWithBothRecords) {
  DbnOptions options;
  options.duplicates = Duplicates::kLast;
  ExpectRefused({DbnFile({}, {{.minute = 5}, {.minute = 6}}), DbnFile({}, {{.minute = 4}})},
                StatusCode::kInvalidArgument,
                {"b.dbn: record 0, time 2024-03-07T14:34:00Z", "lies before", "a.dbn: record 1"},
                options);
}

TEST_F(Dbn, AnUndefinedPriceIsRefusedOrLeftOutAsAsked) {
  const std::string file =
      DbnFile({}, {{.minute = 0}, {.minute = 1, .low = INT64_MAX}, {.minute = 2}});
  ExpectRefused({file}, StatusCode::kInvalidArgument,
                {"record 1, time 2024-03-07T14:31:00Z", "low = 9223372036854775807", "--missing"});
  DbnOptions options;
  options.missing = Missing::kDrop;
  EXPECT_THAT(Good({file}, options).last, ElementsAre(0, 1));
  options.missing = Missing::kSegment;
  const Bars cut = Good({file}, options);
  EXPECT_THAT(cut.last, ElementsAre(1, 1));
  EXPECT_EQ(cut.left_out.at("bars with an undefined price"), 1u);
}

TEST_F(Dbn, PricesThatAreNoBarAreRefusedByRecordTimeFieldAndValue) {
  DbnOptions drop;
  drop.missing = Missing::kDrop;
  ExpectRefused({DbnFile({}, {{}, {.minute = 1, .low = -40}})}, StatusCode::kInvalidArgument,
                {"record 1, time 2024-03-07T14:31:00Z: low = -40 is not above 0"}, drop);
  ExpectRefused({DbnFile({}, {{.close = 105}})}, StatusCode::kInvalidArgument,
                {"close = 105 lies outside low 99 to high 101"});
  ExpectRefused({DbnFile({}, {{.open = 0, .low = 0}})}, StatusCode::kInvalidArgument,
                {"open = 0 is not above 0"});
}

TEST_F(Dbn, PricesAreDividedExactly) {
  std::string record = DbnRecord({});
  const int64_t price = 67'890'123'456'789;  // 67890.123456789
  for (size_t at = 16; at < 48; at += 8)
    record.replace(at, 8, std::string(reinterpret_cast<const char*>(&price), 8));
  EXPECT_EQ(Good({DbnMetadata({}) + record}).close[0], 67890.123456789);
}

TEST_F(Dbn, BarsThatDoNotSayTheirIntervalTakeTheSchemas) {
  EXPECT_EQ(Good({DbnFile({.schema = 7}, {{.type = 0x11}})}).metadata.at("bar_interval"), "1h");
  ExpectRefused({DbnFile({.schema = 0xFFFF}, {{.type = 0x11}})}, StatusCode::kInvalidArgument,
                {"no bars", "0x11 ohlcv (1)"});
}

TEST_F(Dbn, AnIntervalThatIsNotThereIsRefusedWithWhatIs) {
  DbnOptions options;
  options.interval = "1d";
  ExpectRefused({DbnFile({}, {{}})}, StatusCode::kInvalidArgument,
                {"no bars of interval 1d", "0x21 ohlcv-1m (1)"}, options);
  options.interval = "2m";
  EXPECT_TRUE(base::IsUsageError(Read({DbnFile({}, {{}})}, options).status()));
}

TEST_F(Dbn, SchemasWithoutBarsAreRefusedByName) {
  for (const auto& [schema, name] :
       std::vector<std::pair<uint16_t, const char*>>{{0, "mbo"},
                                                     {1, "mbp-1"},
                                                     {4, "trades"},
                                                     {9, "definition"},
                                                     {19, "bbo-1m"},
                                                     {77, "number 77"}}) {
    ExpectRefused({DbnMetadata({.schema = schema})}, StatusCode::kUnimplemented,
                  {name, "ohlcv-1m"});
  }
  std::string books =
      DbnMetadata({.schema = 0xFFFF}) + std::string("\x5C\x0A", 2) + std::string(366, '\1');
  ExpectRefused({books}, StatusCode::kInvalidArgument, {"0x0A mbp-10 (1)", "order books"});
}

TEST_F(Dbn, OtherVersionsAndOtherFilesAreRefused) {
  std::string file = DbnFile({}, {{}});
  file[3] = 4;
  ExpectRefused({file}, StatusCode::kInvalidArgument, {"DBN version 4 is not read"});
  file[3] = 0;
  ExpectRefused({file}, StatusCode::kInvalidArgument, {"DBN version 0 is not read"});
  ExpectRefused({"time,open\n"}, StatusCode::kInvalidArgument, {"begins with 74 69 6D 65"});
  ExpectRefused({""}, StatusCode::kInvalidArgument, {"begins with nothing"});
  ExpectRefused({std::string("\x51\x2A\x4D\x18zzzz", 8)}, StatusCode::kInvalidArgument,
                {"skippable"});
  ExpectRefused({ZstdFrame("something else")}, StatusCode::kInvalidArgument, {"is not DBN"});
  EXPECT_EQ(ReadDbn({folder_.File("none.dbn")}, {}).status().code(), StatusCode::kNotFound);
}

TEST_F(Dbn, MetadataCutAnywhereIsNamed) {
  const std::string head = DbnMetadata({.mappings = {{"A", {{20240301, 20240401, "1"}}}}});
  for (size_t size = 4; size < head.size(); ++size) {
    const absl::Status status = Read({head.substr(0, size)}).status();
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    ASSERT_THAT(std::string(status.message()), HasSubstr("metadata is cut"));
  }
}

TEST_F(Dbn, CountsBeyondTheMetadataAreRefusedByOffset) {
  std::string file = DbnFile({}, {{}});
  const uint32_t many = UINT32_MAX;
  file.replace(112, 4, std::string(reinterpret_cast<const char*>(&many), 4));
  ExpectRefused({file}, StatusCode::kInvalidArgument, {"offset 112", "4294967295 symbols"});
  file = DbnFile({}, {{}});
  file.replace(4, 4, std::string("\x10\0\0\0", 4));
  ExpectRefused({file}, StatusCode::kInvalidArgument, {"length 16"});
  file = DbnFile({}, {{}});
  file.replace(116, 71, std::string(71, 'A'));
  ExpectRefused({file}, StatusCode::kInvalidArgument, {"offset 116", "does not end"});
  file = DbnFile({.mappings = {{"A", {{20241301, 20240401, "1"}}}}}, {{}});
  ExpectRefused({file}, StatusCode::kInvalidArgument, {"20241301 is no date"});
}

TEST_F(Dbn, RecordsCutAnywhereAreNamed) {
  const std::string head = DbnMetadata({}), whole = DbnFile({}, {{}, {.minute = 1}});
  for (size_t size = head.size() + 57; size < whole.size(); ++size) {
    const absl::Status status = Read({whole.substr(0, size)}).status();
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    ASSERT_THAT(std::string(status.message()),
                HasSubstr("record 1 at offset " + std::to_string(head.size() + 56)));
  }
}

TEST_F(Dbn, ARecordWithoutLengthDoesNotLoop) {
  ExpectRefused({DbnMetadata({}) + std::string(64, '\0')}, StatusCode::kInvalidArgument,
                {"record 0 at offset 200 says that it has 0 bytes"});
  std::string shorter = DbnRecord({});
  shorter[0] = 10;
  ExpectRefused({DbnMetadata({}) + shorter}, StatusCode::kInvalidArgument,
                {"record 0", "has 40 bytes where 56 are needed"});
}

TEST_F(Dbn, AZstandardFrameCutOrDamagedIsNamedByItsOffset) {
  const std::string first = ZstdFrame(DbnFile({}, {{}, {.minute = 1}})),
                    second = ZstdFrame(DbnRecord({.minute = 2}) + DbnRecord({.minute = 3}));
  EXPECT_EQ(Good({first + second}).size(), 4u);
  const std::string offset = std::to_string(first.size());
  ExpectRefused(
      {(first + second).substr(0, first.size() + second.size() - 3)}, StatusCode::kDataLoss,
      {("inside the Zstandard frame that begins at offset " + offset).c_str(), "whole records"});
  ExpectRefused({first + "garbage"}, StatusCode::kDataLoss,
                {("the Zstandard frame at offset " + offset).c_str(), "after 2 whole records"});
}

TEST_F(Dbn, AFewBytesThatUnfoldToGigabytesAreRefused) {
  std::string packed = ZstdFrame(DbnMetadata({}));
  // Records of an unknown kind, all alike.
  std::string blank(64 << 20, '\4');
  packed += ZstdFrame(blank) + ZstdFrame(blank);
  ExpectRefused({packed}, StatusCode::kResourceExhausted, {"unfold to more than"});
}

TEST_F(Dbn, SymbolMappingRecordsNameInstruments) {
  for (const int version : {1, 3}) {
    const size_t width = version == 1 ? 22 : 71, size = version == 1 ? 80 : 176;
    DbnBytes record;
    record.Add(static_cast<uint8_t>(size / 4)).Add(uint8_t{0x16}).Add(uint16_t{1});
    record.Add(uint32_t{5602}).Add(kDbnStart);
    if (version > 1) record.Add(uint8_t{4});
    record.Text("ES.FUT", width);
    if (version > 1) record.Add(uint8_t{1});
    record.Text("ESM4", width);
    record.Zeros(size - record.bytes().size());
    const DbnHead head = {.version = version, .symbols = {"ES.FUT", "CL.FUT"}};
    EXPECT_THAT(Names(Good({DbnMetadata(head) + record.bytes() + DbnRecord({})})),
                ElementsAre("ESM4"));
  }
}

}  // namespace
}  // namespace vixen::market
