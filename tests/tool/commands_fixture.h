// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/tool/eval/worked_example.h"
#include "tests/tool/hand_made.h"
#include "tool/command.h"

namespace vixen::tool {

using Json = nlohmann::json;

// The program's commands as their users call them, in a folder of each test.
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

}  // namespace vixen::tool
