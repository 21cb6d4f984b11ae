// SPDX-License-Identifier: Apache-2.0
// vixen report, inspect, collect and doctor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/escaping.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "proto/codec/recorded_batch.h"
#include "proto/config/settings.h"
#include "tests/tool/commands_fixture.h"
#include "tool/doctor/finding.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Commands, ReportMakesOnePageAndLeavesNothingOnBadInput) {
  const std::string weights = WriteWeights(37);
  ASSERT_TRUE(
      Run({"eval", "--data", WriteDataset(), "--weights", weights, "--out", In("e.json")}).ok());
  ASSERT_TRUE(Run({"report", In("e.json"), "--out", In("r.html")}).ok());
  EXPECT_THAT(base::ReadFile(In("r.html")).value(), HasSubstr("<h2>Equity</h2>"));
  EXPECT_THAT(printed_, HasSubstr("r.html"));

  ASSERT_TRUE(base::WriteFileAtomically(In("bad.json"), "{\"format\":1}").ok());
  const absl::Status status = Run({"report", In("bad.json"), "--out", In("bad.html")});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad.json"));
  EXPECT_FALSE(std::filesystem::exists(In("bad.html")));
}

TEST_F(Commands, InspectShowsDatasetAndWeights) {
  ASSERT_TRUE(Run({"inspect", WriteDataset(), "--json"}).ok());
  const Json dataset = Json::parse(printed_);
  EXPECT_EQ(dataset["kind"], "dataset");
  EXPECT_EQ(dataset["bars"], 26);
  EXPECT_EQ(dataset["segments"], 2);
  EXPECT_EQ(dataset["train_rows"], 13);
  EXPECT_EQ(dataset["scaler_fingerprint"], scaler_);
  EXPECT_EQ(dataset["close"]["largest"], 103.0);
  ASSERT_TRUE(Run({"inspect", WriteWeights(37)}).ok());
  EXPECT_THAT(printed_, HasSubstr("1+3-16-16/16,16 curiosity 16"));
  EXPECT_THAT(printed_, HasSubstr("online.shared_layers.0.weight"));
}

TEST_F(Commands, InspectRefusesWhatIsNoTensorFile) {
  ASSERT_TRUE(base::WriteFileAtomically(In("x"), "hello, this is not a tensor file").ok());
  const absl::Status status = Run({"inspect", In("x")});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(In("x")));
  EXPECT_EQ(base::ExitCodeOf(Run({"inspect"})), base::kExitUsage);
}

TEST_F(Commands, CollectRunsLaunchesHereAndRecordsThem) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37);
  const std::vector<std::string> run = {
      "collect", "--data",     data,    "--weights", weights, "--launches",
      "3",       "--out",      In("b"), "--epsilon", "0.5",   "--seed",
      "9",       "--episodes", "4",     "--steps",   "8",     "--carry_over"};
  ASSERT_TRUE(Run(run).ok());
  const std::string path = In("b") + "/constant-0000000000000000-000002.safetensors";
  const auto recorded = codec::ReadRecordedBatch(path);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  EXPECT_EQ(recorded->header.launch(), 2u);
  EXPECT_EQ(recorded->header.run_seed(), 9u);
  EXPECT_EQ(recorded->batch.rows(), 32u);
  EXPECT_EQ(recorded->batch.start_states.size(), 4u);
  EXPECT_TRUE(recorded->batch.with_terms());
  ASSERT_TRUE(Run({"inspect", path, "--json"}).ok());
  const Json json = Json::parse(printed_);
  EXPECT_EQ(json["kind"], "recorded batch");
  EXPECT_EQ(json["statistics"]["valid_rows"], 32);
}

TEST_F(Commands, CollectGivesTheSameBytesForTheSameSeed) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37);
  std::string bytes[2];
  for (int i = 0; i < 2; ++i) {
    const std::string out = In("run" + std::to_string(i));
    ASSERT_TRUE(Run({"collect", "--data", data, "--weights", weights, "--launches", "1", "--out",
                     out, "--epsilon", "1", "--seed", "5", "--episodes", "4", "--steps", "8"})
                    .ok());
    bytes[i] = base::ReadFile(out + "/constant-0000000000000000-000000.safetensors").value();
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(Commands, CollectSummaryBeginsWithProfitsShareOfTheReward) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37);
  ASSERT_TRUE(Run({"collect", "--data", data, "--weights", weights, "--launches", "2", "--summary",
                   "--epsilon", "1", "--episodes", "4", "--steps", "8"})
                  .ok());
  EXPECT_THAT(printed_, HasSubstr("of the reward's variance"));
  EXPECT_THAT(printed_, HasSubstr("2 launches, 64 valid rows, 100.00 % explored"));
  EXPECT_THAT(printed_, Not(HasSubstr("nan")));
}

TEST_F(Commands, CollectNeedsOneSource) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"collect", "--launches", "1"},
        {"collect", "--launches", "1", "--data", "d"},
        {"collect", "--launches", "1", "--actor", "127.0.0.1:1", "--data", "d", "--weights", "w"},
        {"collect", "--launches", "0", "--actor", "127.0.0.1:1"},
        {"collect", "--launches", "1", "--actor", "127.0.0.1:1", "--policy", "a b"}}) {
    EXPECT_EQ(base::ExitCodeOf(Run(arguments)), base::kExitUsage);
  }
}

TEST_F(Commands, AnActorElsewhereNeedsTlsOrInsecure) {
  const absl::Status status = Run({"inspect", "--actor", "192.0.2.1:50051"});
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("192.0.2.1:50051"));
}

TEST_F(Commands, DoctorFindsThisMachineFitAndABrokenDatasetNot) {
  absl::Status status = Run({"doctor", "--json", "--listen", "127.0.0.1:0", "--out", In("")});
  ASSERT_TRUE(status.ok()) << status << printed_;
  const Json findings = Json::parse(printed_);
  EXPECT_GE(findings.size(), 7u);
  for (const Json& finding : findings) {
    EXPECT_EQ(finding["verdict"] == "ok", finding["remedy"] == "") << finding;
  }
  status = Run({"doctor", "--data", In("no.safetensors")});
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitFailed);
  EXPECT_THAT(std::string(status.message()), HasSubstr("dataset"));
  EXPECT_THAT(printed_, HasSubstr("no.safetensors"));
}

TEST(Doctor, SaysWhatIsWrongWithAnAddress) {
  EXPECT_EQ(ExaminePort("127.0.0.1:0").verdict, Verdict::kOk);
  EXPECT_EQ(ExaminePort("nonsense").verdict, Verdict::kFail);
  EXPECT_EQ(ExaminePort("192.0.2.1:50051").verdict, Verdict::kFail);
}

TEST(Doctor, SeesAFolderThatCannotBeMade) {
  EXPECT_EQ(ExamineFolder("out", "/dev/null/x").verdict, Verdict::kFail);
  EXPECT_EQ(ExamineFolder("out", testing::TempDir() + "/new/deep").verdict, Verdict::kOk);
}

}  // namespace
}  // namespace vixen::tool
