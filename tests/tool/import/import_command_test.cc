// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/file.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "market/dataset.h"
#include "tests/scratch_folder.h"
#include "tool/command.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;

// What the command line `vixen import FORMAT …` would run. `printed` takes what went to stdout.
absl::Status RunFormat(const char* format, std::vector<std::string> arguments,
                       std::string* printed = nullptr) {
  CLI::App app;
  Selected selected;
  AddImport(app, selected);
  std::vector<const char*> argv = {"vixen", "import", format};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  app.parse(static_cast<int>(argv.size()), argv.data());
  ::testing::internal::CaptureStdout();
  const absl::Status status = selected();
  const std::string out = ::testing::internal::GetCapturedStdout();
  if (printed != nullptr) *printed = out;
  return status;
}

absl::Status RunCommand(std::vector<std::string> arguments, std::string* printed = nullptr) {
  return RunFormat("csv", std::move(arguments), printed);
}

std::string Example(const std::string& name) {
  return std::string(std::getenv("VIXEN_SOURCE_DIR")) + "/tests/market/data/" + name;
}

class ImportCommand : public ::testing::Test {
 protected:
  // `count` one-minute bars of a slow wave.
  void WriteBars(const std::string& name, int count, int first = 0) {
    std::string text = "time,open,high,low,close,volume\n";
    for (int i = first; i < first + count; ++i) {
      const double close = 100 + (i * 7919 % 101) / 100.0;
      const auto price = [](double value) { return std::to_string(value); };
      text += std::to_string(1704205800 + 60 * i) + "," + price(close) + "," + price(close + 0.3) +
              "," + price(close - 0.2) + "," + price(close + 0.1) + "," +
              std::to_string(100 + i % 7) + "\n";
    }
    ASSERT_TRUE(base::WriteFileAtomically(folder_.File(name), text).ok());
  }

  const vixen::testing::ScratchFolder folder_;
  const std::string in_ = folder_.File("bars.csv");
  const std::string out_ = folder_.File("d.safetensors");
};

TEST_F(ImportCommand, WritesADatasetAndPrintsAReport) {
  WriteBars("bars.csv", 400);
  std::string printed;
  ASSERT_EQ(RunCommand({in_, "--out", out_}, &printed), absl::OkStatus());
  const auto dataset = market::Dataset::Load(out_);
  ASSERT_EQ(dataset.status(), absl::OkStatus());
  EXPECT_EQ((*dataset)->bars(), 150u);
  EXPECT_EQ((*dataset)->source(), "csv bars.csv");
  EXPECT_THAT(printed, HasSubstr("bars          400 in 1 segments\n"));
  EXPECT_THAT(printed, HasSubstr("span          2024-01-02T18:40:00Z to 2024-01-02T21:09:00Z\n"));
  EXPECT_THAT(printed, HasSubstr("fingerprint   " + base::ToHex((*dataset)->fingerprint())));
}

TEST_F(ImportCommand, SeveralFilesContinueOneAnother) {
  WriteBars("bars.csv", 300);
  WriteBars("more.csv", 100, 300);
  ASSERT_EQ(RunCommand({in_, folder_.File("more.csv"), "--out", out_, "--raw"}), absl::OkStatus());
  const auto dataset = market::Dataset::Load(out_).value();
  EXPECT_EQ(dataset->bars(), 150u);
  EXPECT_EQ(dataset->source(), "csv bars.csv, more.csv");
}

TEST_F(ImportCommand, PrintsTheReportAsOneJsonObject) {
  WriteBars("bars.csv", 400);
  std::string printed;
  ASSERT_EQ(
      RunCommand({in_, "--out", out_, "--split", "0.8", "--embargo", "10", "--json"}, &printed),
      absl::OkStatus());
  const nlohmann::json report = nlohmann::json::parse(printed);
  EXPECT_EQ(report["rows"], 140);
  EXPECT_EQ(report["train_rows"], 120);
  EXPECT_EQ(report["embargoed"], 10);
  EXPECT_EQ(report["split_time"], "2024-01-02T20:40:00Z");
  EXPECT_EQ(report["scaler"], "rows 0:120");
  EXPECT_EQ(report["clipped_share"].size(), 51u);
  EXPECT_EQ(report["fingerprint"], base::ToHex(market::Dataset::Load(out_).value()->fingerprint()));
}

TEST_F(ImportCommand, PutsATestBlockBehindTheRowsAroundIt) {
  WriteBars("bars.csv", 400);
  std::string printed;
  ASSERT_EQ(RunCommand({in_, "--out", out_, "--split", "0.4..0.6", "--embargo", "10", "--json"},
                       &printed),
            absl::OkStatus());
  const nlohmann::json report = nlohmann::json::parse(printed);
  EXPECT_EQ(report["rows"], 130);
  EXPECT_EQ(report["train_rows"], 100);
  EXPECT_EQ(report["embargoed"], 20);
  EXPECT_EQ(report["segments"], 3);
  EXPECT_EQ(report["scaler"], "rows 0:100");
  const auto dataset = market::Dataset::Load(out_).value();
  const auto time = dataset->timestamp();
  EXPECT_EQ(dataset->metadata().at("split_time"), report["split_time"]);
  EXPECT_EQ(dataset->metadata().at("split_end"), report["split_end"]);
  EXPECT_LT(time[49], time[100]);
  EXPECT_LT(time[129], time[50]);
}

TEST_F(ImportCommand, RefusesABlockThatHoldsNothing) {
  WriteBars("bars.csv", 400);
  for (const auto& [block, text] :
       {std::pair("0.6..0.4", "holds no time"), std::pair("0.5..0.5", "holds no time"),
        std::pair("0.5..", "--split"), std::pair("..0.5", "--split"),
        std::pair("0.5..1.5", "a share between 0 and 1"),
        std::pair("1990-01-01..1991-01-01", "leaves no two rows of a segment inside it"),
        std::pair("1990-01-01..2100-01-01", "leaves no two rows of a segment outside it")}) {
    const absl::Status status = RunCommand({in_, "--out", out_, "--split", block});
    EXPECT_TRUE(base::IsUsageError(status)) << block << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text)) << block;
  }
}

TEST_F(ImportCommand, TheSameInputGivesTheSameBytes) {
  WriteBars("bars.csv", 400);
  ASSERT_EQ(RunCommand({in_, "--out", out_}), absl::OkStatus());
  const std::string first = base::ReadFile(out_).value();
  ASSERT_EQ(RunCommand({in_, "--out", out_}), absl::OkStatus());
  EXPECT_EQ(base::ReadFile(out_).value(), first);
}

TEST_F(ImportCommand, TakesTheScalerOfAnEarlierDataset) {
  WriteBars("bars.csv", 400);
  const std::string later = folder_.File("later.safetensors");
  ASSERT_EQ(RunCommand({in_, "--out", out_, "--fit", "0:100"}), absl::OkStatus());
  ASSERT_EQ(RunCommand({in_, "--out", later, "--scaler_from", out_}), absl::OkStatus());
  EXPECT_EQ(market::Dataset::Load(later).value()->fingerprint(),
            market::Dataset::Load(out_).value()->fingerprint());
  const absl::Status missing =
      RunCommand({in_, "--out", later, "--scaler_from", folder_.File("none.safetensors")});
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
}

TEST_F(ImportCommand, ABadRowFailsWithExitCode1AndLeavesNoFile) {
  WriteBars("bars.csv", 400);
  const std::string text = base::ReadFile(in_).value();
  ASSERT_TRUE(base::WriteFileAtomically(in_, text + "1704300000,10,11,9,NaN,5\n").ok());
  const absl::Status status = RunCommand({in_, "--out", out_});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitFailed);
  EXPECT_EQ(std::string(status.message()),
            in_ +
                ": line 402 (row 401), time `1704300000`: close = `NaN` is not a finite decimal "
                "number (--missing drop or --missing segment leaves such rows out)");
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(ImportCommand, AnErrorLeavesTheOldDatasetUntouched) {
  WriteBars("bars.csv", 400);
  ASSERT_EQ(RunCommand({in_, "--out", out_}), absl::OkStatus());
  const std::string before = base::ReadFile(out_).value();
  WriteBars("bars.csv", 1);
  EXPECT_EQ(RunCommand({in_, "--out", out_}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(base::ReadFile(out_).value(), before);
  EXPECT_EQ(folder_.Count(), 2u);
}

TEST_F(ImportCommand, AFolderThatIsNotThereIsNamed) {
  WriteBars("bars.csv", 400);
  const absl::Status status = RunCommand({in_, "--out", folder_.File("none/d.safetensors")});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("none/d.safetensors"));
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(ImportCommand, TheOutputMayNotBeAnInput) {
  WriteBars("bars.csv", 400);
  const absl::Status status = RunCommand({in_, "--out", folder_.File("./bars.csv")});
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is also an input"));
}

TEST_F(ImportCommand, ColumnsAndSymbolsAreListsThatLeaveTheInputsAlone) {
  WriteBars("bars.csv", 400);
  ASSERT_EQ(RunCommand({"--columns", "time=time,open=open", in_, "--out", out_}), absl::OkStatus());
  const absl::Status status = RunCommand({"--symbol", "A,B", in_, "--out", out_});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no column names an instrument"));
}

TEST_F(ImportCommand, AnOffsetMayBeginWithAMinus) {
  WriteBars("bars.csv", 400);
  EXPECT_EQ(RunCommand({in_, "--tz", "-05:00", "--out", out_}), absl::OkStatus());
}

TEST_F(ImportCommand, ReadsDatabentoFiles) {
  std::string printed;
  ASSERT_EQ(
      RunFormat("dbn", {Example("ohlcv-1m.v2.long.dbn.zst"), "--out", out_, "--raw"}, &printed),
      absl::OkStatus());
  const auto dataset = market::Dataset::Load(out_).value();
  EXPECT_EQ(dataset->bars(), 150u);
  EXPECT_EQ(dataset->source(), "dbn ohlcv-1m.v2.long.dbn.zst");
  EXPECT_EQ(dataset->metadata().at("symbols"), "ESH4");
  EXPECT_EQ(dataset->targets()[0], 5114.5f);
  EXPECT_THAT(printed, HasSubstr("gaps          2, 2 bars missing; longest 2m after"));

  const absl::Status mixed = RunFormat("dbn", {Example("mixed.v3.dbn"), "--out", out_});
  EXPECT_EQ(base::ExitCodeOf(mixed), base::kExitUsage);
  const absl::Status short_file =
      RunFormat("dbn", {Example("mixed.v3.dbn"), "--interval", "1m", "--out", out_});
  EXPECT_THAT(std::string(short_file.message()), HasSubstr("has 30 bars, warm_up 250"));
  EXPECT_EQ(base::ExitCodeOf(RunFormat("dbn", {Example("mbp-10.v2.dbn"), "--out", out_})),
            base::kExitFailed);
  const absl::Status symbol =
      RunFormat("dbn", {Example("ohlcv-1m.v1.dbn"), "--symbol", "NQH4", "--out", out_});
  EXPECT_THAT(std::string(symbol.message()), HasSubstr("found: ESH4"));
}

TEST_F(ImportCommand, ReadsArraysAndFeaturesOfTheUsersOwn) {
  ASSERT_EQ(RunFormat("npy", {Example("bars.npz"), "--features_from", Example("bars.deflated.npz"),
                              "--raw", "--out", out_}),
            absl::OkStatus());
  const auto dataset = market::Dataset::Load(out_).value();
  EXPECT_THAT(dataset->feature_names(), ::testing::ElementsAre("alpha", "größe"));
  EXPECT_EQ(dataset->bars(), 6u);
  EXPECT_EQ(dataset->features()[0], 100);
  EXPECT_EQ(base::ExitCodeOf(
                RunFormat("npy", {Example("bars.npz"), "--feature_names", "a", "--out", out_})),
            base::kExitUsage);
  const absl::Status fortran =
      RunFormat("npy", {Example("bars.fortran.npy"), "--columns",
                        "time=1,open=2,high=3,low=4,close=5,volume=6", "--out", out_});
  EXPECT_THAT(std::string(fortran.message()), HasSubstr("has 6 bars"));
}

TEST_F(ImportCommand, OwnFeaturesOfAnotherLengthAreRefused) {
  WriteBars("bars.csv", 400);
  const absl::Status status =
      RunCommand({in_, "--features_from", Example("bars.deflated.npz"), "--out", out_});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("6 rows of features for 400 bars"));
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(ImportCommand, ResamplesAdjustsAndKeepsASession) {
  WriteBars("bars.csv", 1500);
  const std::string factors = folder_.File("factors.csv");
  ASSERT_TRUE(base::WriteFileAtomically(factors, "date,split\n2024-01-03,2\n").ok());
  std::string printed;
  ASSERT_EQ(RunCommand({in_, "--out", out_, "--resample", "5m", "--warm_up", "60", "--factors",
                        factors, "--raw", "--json"},
                       &printed),
            absl::OkStatus());
  const nlohmann::json report = nlohmann::json::parse(printed);
  EXPECT_EQ(report["bars"], 300);
  EXPECT_EQ(report["rows"], 240);
  EXPECT_EQ(report["quality"]["interval_seconds"], 300);
  EXPECT_GT(report["highest_price"], 200.0);
  const auto dataset = market::Dataset::Load(out_).value();
  EXPECT_EQ(dataset->metadata().at("resampled_from"), "1m");
  EXPECT_EQ(dataset->metadata().at("adjusted"), "forward by 1 of 1 actions");

  ASSERT_EQ(RunCommand({in_, "--out", out_, "--session", "09:30-16:00", "--tz", "America/New_York",
                        "--warm_up", "60", "--json"},
                       &printed),
            absl::OkStatus());
  const nlohmann::json session = nlohmann::json::parse(printed);
  EXPECT_EQ(session["bar_segments"], 2);
  EXPECT_EQ(session["left_out"]["bars outside the session"], 1500 - 390 - 60);
  EXPECT_EQ(base::ExitCodeOf(RunCommand({in_, "--out", out_, "--session", "09:30-16:00"})),
            base::kExitUsage);
  EXPECT_EQ(base::ExitCodeOf(RunCommand({in_, "--out", out_, "--resample", "90s"})),
            base::kExitUsage);
}

TEST_F(ImportCommand, GapsAreRefusedCutOrPassedOverAsAsked) {
  WriteBars("bars.csv", 300);
  WriteBars("more.csv", 300, 310);
  const std::vector<std::string> files = {in_, folder_.File("more.csv"), "--out", out_, "--json"};
  const auto segments = [&](std::vector<std::string> flags) -> int {
    std::string printed;
    flags.insert(flags.begin(), files.begin(), files.end());
    const absl::Status status = RunCommand(flags, &printed);
    EXPECT_EQ(status, absl::OkStatus());
    return status.ok() ? nlohmann::json::parse(printed)["bar_segments"].get<int>() : -1;
  };
  EXPECT_EQ(segments({}), 1);
  EXPECT_EQ(segments({"--gaps", "segment"}), 2);
  EXPECT_EQ(segments({"--gaps", "segment", "--max_gap", "1h"}), 1);
  EXPECT_EQ(segments({"--gaps", "drop"}), 1);
  const absl::Status refused =
      RunCommand({in_, folder_.File("more.csv"), "--gaps", "error", "--out", out_});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("bar 300, time 2024-01-02T19:40:00Z: a gap"));
}

TEST_F(ImportCommand, RowsWithoutAPriceAreRefusedDroppedOrEndASegment) {
  WriteBars("bars.csv", 600);
  std::string text = base::ReadFile(in_).value();
  const size_t begin = text.find("1704223800,");
  const size_t end = text.find('\n', begin);
  text.replace(begin, end - begin, "1704223800,,,,,0");
  ASSERT_TRUE(base::WriteFileAtomically(in_, text).ok());
  EXPECT_EQ(RunCommand({in_, "--out", out_}).code(), absl::StatusCode::kInvalidArgument);
  for (const auto& [policy, segments] : {std::pair("drop", 1), std::pair("segment", 2)}) {
    std::string printed;
    ASSERT_EQ(RunCommand({in_, "--out", out_, "--missing", policy, "--json"}, &printed),
              absl::OkStatus());
    const nlohmann::json report = nlohmann::json::parse(printed);
    EXPECT_EQ(report["bars"], 599);
    EXPECT_EQ(report["bar_segments"], segments);
    EXPECT_EQ(report["left_out"]["rows without a price"], 1);
  }
}

// The bars of this repository: three instruments, adjusted for splits.
TEST_F(ImportCommand, ReadsTheDailyBarsOfTheRepository) {
  const char* source = std::getenv("VIXEN_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  std::string printed;
  ASSERT_EQ(RunCommand({std::string(source) + "/data/us-daily.csv.gz", "--adjust", "--out", out_,
                        "--json"},
                       &printed),
            absl::OkStatus());
  const nlohmann::json report = nlohmann::json::parse(printed);
  EXPECT_EQ(report["bars"], 9810);
  EXPECT_EQ(report["rows"], 9060);
  EXPECT_EQ(report["segments"], 3);
  EXPECT_EQ(report["constant_columns"], nlohmann::json({"tod_sin", "tod_cos"}));
  const auto dataset = market::Dataset::Load(out_).value();
  EXPECT_EQ(dataset->metadata().at("symbols"), "IBM,MSFT,AAPL");
  EXPECT_EQ(dataset->metadata().at("bar_start"), "midnight UTC of the date");
}

}  // namespace
}  // namespace vixen::tool
