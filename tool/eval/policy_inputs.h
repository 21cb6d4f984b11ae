// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "market/dataset.h"
#include "tool/eval/evaluation.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {

// A policy and the bars that it is to run on, found to belong together.
struct PolicyInputs {
  std::shared_ptr<const market::Dataset> dataset;
  kernels::PolicyWeights weights;
  std::map<std::string, std::string> metadata;  // of the weights' file
  // What the weights were trained under, when their file says so.
  std::optional<v1::EnvironmentSettings> trained_under;
  std::vector<std::string> warnings;  // in plain words
};

// Loads both; `dataset`, if given, is what `data` holds. FAILED_PRECONDITION naming both values
// when the weights were trained with another normalisation or another number of features.
absl::StatusOr<PolicyInputs> LoadPolicyInputs(
    const std::string& data, const std::string& weights,
    std::shared_ptr<const market::Dataset> dataset = nullptr);

// Fingerprint of the dataset that the weights' file says they were trained on.
std::optional<std::string> TrainedOn(const PolicyInputs& inputs);

// Bar after the last that the weights were trained on, where their file says so for this dataset:
// the end of its range, else the training rows of the split.
std::optional<uint64_t> TrainedTo(const PolicyInputs& inputs);

// "A:B", "A:" or ":B"; an empty end stands for 0 or the dataset's last bar. Usage error otherwise.
absl::StatusOr<market::BarRange> ParseBarRange(const std::string& text, uint64_t bars);

// Name and value of every setting, in the order of config.proto.
std::vector<std::pair<std::string, std::string>> SettingTexts(
    const v1::EnvironmentSettings& settings);

EvaluationIdentity IdentityOf(const PolicyInputs& inputs, const std::string& data,
                              const std::string& weights);

}  // namespace vixen::tool
