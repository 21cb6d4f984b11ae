// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/policy_inputs.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "base/version.h"
#include "proto/config/config_file.h"
#include "proto/config/leaf.h"
#include "proto/config/settings.h"
#include "proto/config/value_text.h"

namespace vixen::tool {
namespace {

// "environment" holds the actor's effective settings as textproto, "settings" of files from
// elsewhere their bytes as hexadecimal digits.
absl::Status ReadTrainedUnder(const std::string& path, PolicyInputs& inputs) {
  const auto environment = inputs.metadata.find("environment");
  if (environment != inputs.metadata.end() && !environment->second.empty()) {
    v1::EnvironmentSettings settings;
    VIXEN_RETURN_IF_ERROR(config::ParseConfig(environment->second,
                                              base::StrCat(path, " metadata environment"), settings)
                              .status());
    inputs.trained_under = settings;
    return absl::OkStatus();
  }
  const auto found = inputs.metadata.find("settings");
  if (found == inputs.metadata.end() || found->second.empty()) return absl::OkStatus();
  const std::string& hex = found->second;
  if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return absl::OkStatus();
  }
  VIXEN_ASSIGN_OR_RETURN(inputs.trained_under,
                         config::ParseSettingsBytes(absl::HexStringToBytes(hex),
                                                    base::StrCat(path, " metadata settings")));
  return absl::OkStatus();
}

std::string HexOf(const base::Sha256Digest& digest) { return base::ToHex(digest); }

}  // namespace

absl::StatusOr<PolicyInputs> LoadPolicyInputs(const std::string& data, const std::string& weights,
                                              std::shared_ptr<const market::Dataset> dataset) {
  PolicyInputs inputs;
  inputs.dataset = std::move(dataset);
  if (inputs.dataset == nullptr) {
    VIXEN_ASSIGN_OR_RETURN(inputs.dataset, market::Dataset::Load(data));
  }
  VIXEN_ASSIGN_OR_RETURN(inputs.weights, kernels::LoadPolicyWeights(weights));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(weights, false));
  inputs.metadata = file.metadata();
  const std::string& trained_with = inputs.weights.scaler_fingerprint;
  const std::string scaler = HexOf(inputs.dataset->scaler_fingerprint());
  if (trained_with.empty()) {
    inputs.warnings.push_back(
        "The weights do not say which normalisation they were trained with; whether it is the "
        "dataset's could not be checked.");
  } else if (trained_with != scaler) {
    return absl::FailedPreconditionError(base::StrCat(
        weights, ": trained with scaler ", trained_with, ", ", data, " has ", scaler,
        "; import the bars with --scaler_from the dataset that the policy was trained on"));
  }
  if (inputs.weights.online.architecture.features != inputs.dataset->feature_count()) {
    return absl::FailedPreconditionError(
        base::StrCat(weights, ": the network takes ", inputs.weights.online.architecture.features,
                     " features, ", data, " has ", inputs.dataset->feature_count()));
  }
  VIXEN_RETURN_IF_ERROR(ReadTrainedUnder(weights, inputs));
  return inputs;
}

std::optional<std::string> TrainedOn(const PolicyInputs& inputs) {
  const auto found = inputs.metadata.find("dataset_fingerprint");
  if (found == inputs.metadata.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> TrainedTo(const PolicyInputs& inputs) {
  if (!inputs.trained_under || TrainedOn(inputs) != HexOf(inputs.dataset->fingerprint())) {
    return std::nullopt;
  }
  if (inputs.trained_under->end() > 0) return inputs.trained_under->end();
  return inputs.dataset->train_rows().value_or(inputs.dataset->bars());
}

absl::StatusOr<market::BarRange> ParseBarRange(const std::string& text, uint64_t bars) {
  const auto fault = [&](const char* what) {
    return base::UsageError(
        base::StrCat("--range ", text, ": ", what, "; give A:B with 0 <= A < B <= ", bars));
  };
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return fault("no colon");
  market::BarRange range{0, bars};
  const std::string begin = text.substr(0, colon);
  const std::string end = text.substr(colon + 1);
  if (!begin.empty() && !absl::SimpleAtoi(begin, &range.begin)) return fault("A is no bar number");
  if (!end.empty() && !absl::SimpleAtoi(end, &range.end)) return fault("B is no bar number");
  if (range.begin >= range.end) return fault("empty");
  if (range.end > bars) return fault("beyond the dataset");
  return range;
}

std::vector<std::pair<std::string, std::string>> SettingTexts(
    const v1::EnvironmentSettings& settings) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const config::Leaf& leaf : config::LeavesOf(*settings.GetDescriptor())) {
    if (leaf.setting().testing()) continue;
    const google::protobuf::Message& owner = config::OwnerOf(settings, leaf);
    std::string value;
    if (leaf.field->is_repeated()) {
      const int count = config::CountOf(owner, *leaf.field);
      for (int i = 0; i < count; ++i) {
        base::StrAppend(&value, i == 0 ? "" : ", ", config::ValueText(owner, *leaf.field, i));
      }
    } else {
      value = config::ValueText(owner, *leaf.field);
    }
    texts.emplace_back(leaf.name(), std::move(value));
  }
  return texts;
}

EvaluationIdentity IdentityOf(const PolicyInputs& inputs, const std::string& data,
                              const std::string& weights) {
  const market::Dataset& dataset = *inputs.dataset;
  const auto metadata = [&](const char* key) {
    const auto found = inputs.metadata.find(key);
    return found == inputs.metadata.end() ? std::string() : found->second;
  };
  EvaluationIdentity identity;
  identity.software_version = std::string(base::Version());
  identity.dataset_path = data;
  identity.dataset_fingerprint = HexOf(dataset.fingerprint());
  identity.dataset_source = dataset.source();
  identity.scaler_fingerprint = HexOf(dataset.scaler_fingerprint());
  identity.dataset_bars = dataset.bars();
  identity.dataset_segments =
      static_cast<uint64_t>(std::count(dataset.last().begin(), dataset.last().end(), 1));
  identity.train_rows = dataset.train_rows();
  identity.trained_on = TrainedOn(inputs);
  identity.trained_to = TrainedTo(inputs);
  identity.weights_path = weights;
  identity.policy = metadata("policy");
  identity.architecture = inputs.weights.online.architecture.Describe();
  identity.online_version = inputs.weights.online_version;
  identity.target_version = inputs.weights.target_version;
  identity.curiosity_version = inputs.weights.curiosity_version;
  identity.training_step = metadata("step");
  return identity;
}

}  // namespace vixen::tool
