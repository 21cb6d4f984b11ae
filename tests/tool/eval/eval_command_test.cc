// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/escaping.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "proto/config/settings.h"
#include "tests/tool/commands_fixture.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace vixen::tool
