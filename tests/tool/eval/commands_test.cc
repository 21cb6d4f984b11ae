// SPDX-License-Identifier: Apache-2.0
// vixen eval, report, inspect, collect and doctor as their users call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "proto/codec/recorded_batch.h"
#include "proto/config/settings.h"
#include "tests/tool/eval/worked_example.h"
#include "tests/tool/hand_made.h"
#include "tool/command.h"
#include "tool/doctor/finding.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class Commands : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string In(const std::string& name) const { return (folder_ / name).string(); }

  // Runs a command line; `printed_` holds its stdout.
  absl::Status Run(const std::vector<std::string>& arguments) {
    CLI::App app;
    Selected selected;
    AddEval(app, selected);
    AddReport(app, selected);
    AddInspect(app, selected);
    AddCollect(app, selected);
    AddDoctor(app, selected);
    std::vector<const char*> argv = {"vixen"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    app.parse(static_cast<int>(argv.size()), argv.data());
    testing::internal::CaptureStdout();
    const absl::Status status = selected();
    printed_ = testing::internal::GetCapturedStdout();
    return status;
  }

  // The worked example's closes twice, the second segment behind the split.
  std::string WriteDataset(bool split = true) {
    market::Dataset::Parts parts = DailyParts({kExampleCloses, kExampleCloses});
    if (split) parts.train_rows = kExampleCloses.size();
    const auto dataset = market::Dataset::Create(std::move(parts)).value();
    scaler_ = base::ToHex(dataset->scaler_fingerprint());
    EXPECT_TRUE(dataset->Write(In("d.safetensors")).ok());
    return In("d.safetensors");
  }

  std::string WriteWeights(int action, const std::map<std::string, std::string>& metadata = {}) {
    const kernels::PolicyWeights weights = ConstantPolicy(1, action);
    base::TensorFileWriter writer;
    writer.Metadata("policy", "constant").Metadata("online_version", "7");
    for (const auto& [key, value] : metadata) writer.Metadata(key, value);
    kernels::WriteParameters(weights.online, "online.", writer);
    kernels::WriteParameters(weights.target, "target.", writer);
    kernels::WriteParameters(weights.curiosity, "curiosity.", writer);
    EXPECT_TRUE(writer.Write(In("w.safetensors")).ok());
    return In("w.safetensors");
  }

  Json ReadJson(const std::string& path) { return Json::parse(base::ReadFile(path).value()); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("commands_" + std::to_string(getpid()) + "_" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string printed_;
  std::string scaler_;
};

TEST_F(Commands, EvalTakesTheRowsAfterTheTrainingRows) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37, {{"scaler_fingerprint", scaler_}});
  const absl::Status status = Run({"eval", "--data", data, "--weights", weights, "--out",
                                   In("e.json"), "--calendar", "equity"});
  ASSERT_TRUE(status.ok()) << status;
  const Json json = ReadJson(In("e.json"));
  EXPECT_EQ(json["begin"], 13);
  EXPECT_EQ(json["end"], 26);
  EXPECT_EQ(json["identity"]["online_version"], 7);
  EXPECT_EQ(json["identity"]["policy"], "constant");
  EXPECT_NEAR(json["metrics"]["buy_and_hold"]["total_return"], -0.01024743814, 1e-8);
  EXPECT_EQ(json["annualisation"]["steps_a_year"], 252.0);
  EXPECT_TRUE(json["metrics"]["policy"]["profit_factor"].is_null());
  EXPECT_EQ(json["reasons"]["policy"]["profit_factor"], "no closed trade");
  EXPECT_THAT(printed_, HasSubstr("buy-and-hold"));
  EXPECT_THAT(printed_, HasSubstr("not used in training"));
  EXPECT_THAT(printed_, HasSubstr("! Few trades"));
}

TEST_F(Commands, EvalWarnsWithoutASplitAndInsideTheTrainingRows) {
  const std::string weights = WriteWeights(37);
  ASSERT_TRUE(Run({"eval", "--data", WriteDataset(false), "--weights", weights}).ok());
  EXPECT_THAT(printed_, HasSubstr("no split by time"));
  EXPECT_THAT(printed_, HasSubstr("normalisation"));
  ASSERT_TRUE(
      Run({"eval", "--data", WriteDataset(), "--weights", weights, "--range", "0:26"}).ok());
  EXPECT_THAT(printed_, HasSubstr("has seen these bars"));
}

TEST_F(Commands, EvalBelievesTheWeightsRatherThanTheSplit) {
  const std::string data = WriteDataset();
  const std::string fingerprint = base::ToHex(market::Dataset::Load(data).value()->fingerprint());
  const auto says = [&](const std::string& trained_on, const std::string& range) {
    const std::string weights = WriteWeights(
        37, {{"dataset_fingerprint", trained_on}, {"environment", "begin: 0\n" + range}});
    EXPECT_TRUE(Run({"eval", "--data", data, "--weights", weights, "--out", In("e.json")}).ok());
    return printed_;
  };
  EXPECT_THAT(says(fingerprint, ""), HasSubstr("not used in training"));
  EXPECT_EQ(ReadJson(In("e.json"))["identity"]["trained_to"], 13);
  std::string text = says(fingerprint, "end: 26");
  EXPECT_THAT(text, HasSubstr("trained on bars 0 to 26 of this dataset, and the range begins at "
                              "bar 13: the policy has seen these bars"));
  EXPECT_THAT(text, HasSubstr("NOT separated from training"));
  text = says(std::string(64, 'a'), "");
  EXPECT_THAT(text, HasSubstr("trained on another dataset (fingerprint aaaaaaaaaaaa…)"));
  EXPECT_THAT(text, HasSubstr("NOT separated from training"));
  ASSERT_TRUE(Run({"report", In("e.json"), "--out", In("r.html")}).ok());
  const std::string page = base::ReadFile(In("r.html")).value();
  EXPECT_THAT(page, HasSubstr("not separated from the training bars"));
  EXPECT_THAT(page, HasSubstr("another dataset, aaaa"));
}

TEST_F(Commands, EvalRefusesAnotherNormalisationWithBothValues) {
  const std::string data = WriteDataset();
  const std::string other(64, 'a');
  const std::string weights = WriteWeights(37, {{"scaler_fingerprint", other}});
  const absl::Status status =
      Run({"eval", "--data", data, "--weights", weights, "--out", In("e.json")});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(other));
  EXPECT_THAT(std::string(status.message()), HasSubstr(scaler_));
  EXPECT_FALSE(std::filesystem::exists(In("e.json")));
}

TEST_F(Commands, EvalUsesTheCostsThatTheWeightsWereTrainedUnder) {
  v1::EnvironmentSettings settings;
  for (int i = 0; i < 9; ++i) settings.add_cost_bps(0);
  settings.set_spread(0);
  const std::string bytes = config::SettingsBytes(settings);
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37, {{"settings", absl::BytesToHexString(bytes)}});
  ASSERT_TRUE(Run({"eval", "--data", data, "--weights", weights, "--json"}).ok());
  EXPECT_EQ(Json::parse(printed_)["metrics"]["policy"]["costs"], 0.0);
  ASSERT_TRUE(
      Run({"eval", "--data", data, "--weights", weights, "--json", "--spread", "0.0002"}).ok());
  EXPECT_NEAR(Json::parse(printed_)["metrics"]["policy"]["costs"], 9.0, 1e-2);
  EXPECT_THAT(printed_, HasSubstr("given here: spread"));
}

TEST_F(Commands, EvalReadsTheActorsSettingsAsText) {
  const std::string weights =
      WriteWeights(37, {{"environment", "spread: 0\ncost_bps: [0,0,0,0,0,0,0,0,0]\n"},
                        {"settings", "the learner's own"}});
  ASSERT_TRUE(Run({"eval", "--data", WriteDataset(), "--weights", weights, "--json"}).ok());
  EXPECT_EQ(Json::parse(printed_)["metrics"]["policy"]["costs"], 0.0);
}

TEST_F(Commands, EvalNamesWrongFlags) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37);
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--range", "5"},
                                                        {"--range", "9:4"},
                                                        {"--range", "0:99"},
                                                        {"--range", "x:4"},
                                                        {"--calendar", "lunar"},
                                                        {"--epsilon", "1.5"},
                                                        {"--seeds", "0"},
                                                        {"--cost_scales", "1,-2"},
                                                        {"--moving_average", "200,50"},
                                                        {"--moving_average", "50"},
                                                        {"--block_length", "0.5"},
                                                        {"--resamples", "1000000"},
                                                        {"--risk_free", "-2"}}) {
    const absl::Status status = Run({"eval", "--data", data, "--weights", weights, flag, value});
    EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage) << flag << value;
    EXPECT_THAT(std::string(status.message()), HasSubstr(flag)) << status;
  }
  const absl::Status missing = Run({"eval", "--data", In("no"), "--weights", weights});
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
}

TEST_F(Commands, EvalWalksForwardWithAPolicyAFoldOrOneOnAll) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37);
  const std::vector<std::string> run = {"eval", "--data", data, "--json", "--folds", "2"};
  auto with = run;
  with.insert(with.end(), {"--weights", weights});
  ASSERT_TRUE(Run(with).ok());
  Json json = Json::parse(printed_);
  ASSERT_EQ(json["folds"].size(), 2u);
  EXPECT_EQ(json["fold_weights"], false);
  EXPECT_EQ(json["folds"][1]["weights"], weights);
  EXPECT_EQ(json["fold_summary"]["total_return"]["count"], 2);
  EXPECT_TRUE(json["folds"][0]["buy_and_hold"]["total_return"].is_number());
  with.insert(with.end(), {"--weights", weights});
  ASSERT_TRUE(Run(with).ok());
  json = Json::parse(printed_);
  EXPECT_EQ(json["fold_weights"], true);
  with.insert(with.end(), {"--weights", weights});
  const absl::Status status = Run(with);
  EXPECT_EQ(base::ExitCodeOf(status), base::kExitUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--weights was given 3 times"));
}

TEST_F(Commands, EvalSaysWhenAFoldsPolicyHasSeenTheFold) {
  const std::string data = WriteDataset();
  const std::string fingerprint = base::ToHex(market::Dataset::Load(data).value()->fingerprint());
  const std::string weights = WriteWeights(
      37, {{"dataset_fingerprint", fingerprint}, {"environment", "begin: 0\nend: 20\n"}});
  ASSERT_TRUE(Run({"eval", "--data", data, "--folds", "2", "--weights", weights, "--weights",
                   weights, "--out", In("e.json")})
                  .ok());
  EXPECT_THAT(printed_, HasSubstr("was trained on bars 0 to 20 of this dataset, and fold 1 begins "
                                  "at bar 13: the policy has seen these bars"));
  EXPECT_THAT(printed_, HasSubstr("and fold 2 begins at bar 19: the policy has seen these bars"));
  EXPECT_EQ(ReadJson(In("e.json"))["folds"][0]["trained_to"], 20);
}

TEST_F(Commands, EvalTakesNoFoldForUnseenWhoseWeightsAreOfAnotherDataset) {
  const std::string data = WriteDataset();
  const std::string fingerprint = base::ToHex(market::Dataset::Load(data).value()->fingerprint());
  const auto trained_on = [&](const std::string& dataset, const std::string& name) {
    const std::string written =
        WriteWeights(37, {{"dataset_fingerprint", dataset}, {"environment", "begin: 0\n"}});
    std::filesystem::rename(written, In(name));
    return In(name);
  };
  const std::string own = trained_on(fingerprint, "own"),
                    foreign = trained_on(std::string(64, 'a'), "foreign");
  const auto eval = [&](const std::string& first, const std::string& second) {
    EXPECT_TRUE(Run({"eval", "--data", data, "--folds", "2", "--weights", first, "--weights",
                     second, "--out", In("e.json")})
                    .ok());
    return printed_;
  };
  std::string text = eval(own, own);
  EXPECT_THAT(text, HasSubstr(", not used in training"));
  EXPECT_THAT(text, Not(HasSubstr("another dataset")));
  text = eval(own, foreign);
  EXPECT_THAT(text, HasSubstr("NOT separated from training"));
  EXPECT_THAT(text, HasSubstr(foreign + " was trained on another dataset (fingerprint "
                                        "aaaaaaaaaaaa…): whether the bars of fold 2"));
  EXPECT_THAT(text, Not(HasSubstr("the bars of fold 1")));
  const Json json = ReadJson(In("e.json"));
  EXPECT_EQ(json["folds"][0]["trained_on"], fingerprint);
  EXPECT_EQ(json["folds"][1]["trained_on"], std::string(64, 'a'));
  ASSERT_TRUE(Run({"report", In("e.json"), "--out", In("r.html")}).ok());
  const std::string page = base::ReadFile(In("r.html")).value();
  EXPECT_THAT(page, HasSubstr("not separated from the training bars"));
  EXPECT_THAT(page, HasSubstr("another dataset"));
  text = eval(foreign, own);
  EXPECT_THAT(text, HasSubstr("NOT separated from training"));
  EXPECT_THAT(text, HasSubstr("whether the bars of fold 1"));
}

TEST_F(Commands, EvalDoesNotSayThatBarsBeforeTheTrainingWereSeen) {
  const std::string data = WriteDataset();
  const std::string fingerprint = base::ToHex(market::Dataset::Load(data).value()->fingerprint());
  const std::string weights = WriteWeights(
      37, {{"dataset_fingerprint", fingerprint}, {"environment", "begin: 13\nend: 26\n"}});
  ASSERT_TRUE(Run({"eval", "--data", data, "--weights", weights, "--range", "0:13"}).ok());
  EXPECT_THAT(printed_, HasSubstr("trained on bars 13 to 26 of this dataset, and the range ends at "
                                  "bar 13: the policy has seen what came after these bars"));
  EXPECT_THAT(printed_, Not(HasSubstr("has seen these bars")));
  EXPECT_THAT(printed_, HasSubstr("NOT separated from training"));
  ASSERT_TRUE(Run({"eval", "--data", data, "--weights", weights, "--range", "0:26"}).ok());
  EXPECT_THAT(printed_, HasSubstr("has seen these bars"));
}

TEST_F(Commands, EvalWritesTradesAndTheSpreadOfSeeds) {
  const std::string data = WriteDataset();
  const std::string weights = WriteWeights(37);
  ASSERT_TRUE(Run({"eval", "--data", data, "--weights", weights, "--trades", In("t.csv"),
                   "--series", In("s.safetensors"), "--epsilon", "0.5", "--seeds", "3", "--json"})
                  .ok());
  const Json json = Json::parse(printed_);
  EXPECT_EQ(json["seeds"].size(), 3u);
  EXPECT_EQ(json["seed_summary"]["total_return"]["count"], 3);
  EXPECT_EQ(json["epsilon"], 0.5);
  EXPECT_TRUE(base::TensorFile::Open(In("s.safetensors"))->Get<double>("equity", {12}).ok());
  EXPECT_THAT(base::ReadFile(In("t.csv")).value(), HasSubstr("number,side,status,fold,entry_step"));
  ASSERT_TRUE(Run({"eval", "--data", data, "--weights", weights, "--seeds", "3"}).ok());
  EXPECT_THAT(printed_, HasSubstr("does the same under every seed"));
}

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
