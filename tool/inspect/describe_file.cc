// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "kernels/nn/network.h"
#include "market/dataset.h"
#include "proto/codec/convert.h"
#include "proto/codec/recorded_batch.h"
#include "tool/collect/statistics_text.h"
#include "tool/format.h"
#include "tool/inspect/describe.h"

namespace vixen::tool {
namespace {

constexpr size_t kLongestMetadata = 120;

// Least, mean and largest of finite numbers.
Json RangeOf(std::span<const float> values, size_t offset, size_t stride) {
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  double sum = 0;
  uint64_t count = 0;
  for (size_t i = offset; i < values.size(); i += stride, ++count) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
    sum += values[i];
  }
  if (count == 0) return Json::object();
  return {{"least", low}, {"mean", sum / static_cast<double>(count)}, {"largest", high}};
}

Json TensorsOf(const base::TensorFile& file) {
  Json tensors = Json::array();
  for (const base::TensorView& tensor : file.tensors()) {
    Json row = {{"tensor", tensor.name}, {"holds", tensor.Describe()}};
    if (tensor.dtype == base::DType::kF32) {
      const auto values = file.Get<float>(tensor.name, tensor.shape);
      if (values.ok()) row.update(RangeOf(*values, 0, 1));
    }
    tensors.push_back(std::move(row));
  }
  return tensors;
}

Json MetadataOf(const base::TensorFile& file) {
  Json metadata = Json::object();
  for (const auto& [key, value] : file.metadata()) {
    metadata[key] =
        value.size() <= kLongestMetadata
            ? value
            : base::StrCat(value.substr(0, kLongestMetadata), "… (", value.size(), " bytes)");
  }
  return metadata;
}

absl::StatusOr<Json> DescribeDataset(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const auto dataset, market::Dataset::Load(path));
  const auto timestamp = dataset->timestamp();
  Json json = {{"kind", "dataset"},
               {"file", path},
               {"source", dataset->source()},
               {"bars", dataset->bars()},
               {"features", dataset->feature_count()},
               {"segments", std::count(dataset->last().begin(), dataset->last().end(), 1)},
               {"first_bar", Time(timestamp.front())},
               {"last_bar", Time(timestamp.back())},
               {"fingerprint", base::ToHex(dataset->fingerprint())},
               {"scaler_fingerprint", base::ToHex(dataset->scaler_fingerprint())}};
  if (dataset->train_rows()) {
    json["train_rows"] = *dataset->train_rows();
    json["unseen_rows"] = dataset->bars() - *dataset->train_rows();
  }
  json["close"] = RangeOf(dataset->targets(), 0, 4);
  Json features = Json::array();
  for (uint32_t f = 0; f < dataset->feature_count(); ++f) {
    Json row = {{"feature", dataset->feature_names()[f]}};
    row.update(RangeOf(dataset->features(), f, dataset->feature_count()));
    row["scaler_mean"] = dataset->scaler().mean[f];
    row["scaler_scale"] = dataset->scaler().scale[f];
    features.push_back(std::move(row));
  }
  json["columns"] = std::move(features);
  return json;
}

absl::StatusOr<Json> DescribeWeights(const base::TensorFile& file) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::PolicyWeights weights,
                         kernels::LoadPolicyWeights(file.source()));
  Json json = {{"kind", "weights"},
               {"file", file.source()},
               {"architecture", weights.online.architecture.Describe()},
               {"scaler_fingerprint", weights.scaler_fingerprint}};
  Json kinds = Json::array();
  const std::pair<const kernels::Parameters*, uint64_t> parts[] = {
      {&weights.online, weights.online_version},
      {&weights.target, weights.target_version},
      {&weights.curiosity, weights.curiosity_version}};
  for (const auto& [parameters, version] : parts) {
    if (parameters->values.empty()) continue;
    kinds.push_back({{"weights", std::string(kernels::WeightsKindName(parameters->kind))},
                     {"version", version},
                     {"parameters", parameters->values.size()},
                     {"sha256", base::ToHex(kernels::ParametersSha256(*parameters))}});
  }
  json["kinds"] = std::move(kinds);
  json["tensors"] = TensorsOf(file);
  json["metadata"] = MetadataOf(file);
  return json;
}

absl::StatusOr<Json> DescribeBatch(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const codec::RecordedBatch recorded, codec::ReadRecordedBatch(path));
  const v1::BatchHeader& header = recorded.header;
  Json json = {{"kind", "recorded batch"},
               {"file", path},
               {"policy", header.policy()},
               {"run_id", base::StrCat(absl::Hex(header.run_id(), absl::kZeroPad16))},
               {"launch", header.launch()},
               {"sequence", header.sequence()},
               {"episodes", header.episodes()},
               {"steps", header.steps()},
               {"online_version", header.online_version()},
               {"target_version", header.target_version()},
               {"curiosity_version", header.curiosity_version()},
               {"epsilon", header.epsilon()},
               {"run_seed", header.run_seed()},
               {"device", header.device()},
               {"architecture", codec::FromProto(recorded.architecture).Describe()},
               {"dataset_fingerprint", absl::BytesToHexString(recorded.dataset_fingerprint)},
               {"scaler_fingerprint", absl::BytesToHexString(recorded.scaler_fingerprint)},
               {"settings_sha256", absl::BytesToHexString(header.settings_sha256())},
               {"slot_states", recorded.batch.start_states.size()}};
  json["statistics"] = StatisticsJson(recorded.batch.statistics, 1);
  return json;
}

bool HasTensor(const base::TensorFile& file, std::string_view name) {
  return file.Find(name) != nullptr;
}

}  // namespace

absl::StatusOr<Json> DescribeFile(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(path));
  if (HasTensor(file, "features") && HasTensor(file, "targets") && !HasTensor(file, "starts")) {
    return DescribeDataset(path);
  }
  if (HasTensor(file, "online.shared_layers.0.weight") ||
      HasTensor(file, "shared_layers.0.weight")) {
    if (!HasTensor(file, "features")) return DescribeWeights(file);
  }
  if (HasTensor(file, "portfolio") && HasTensor(file, "flags")) return DescribeBatch(path);
  return Json{{"kind", "tensor file"},
              {"file", path},
              {"tensors", TensorsOf(file)},
              {"metadata", MetadataOf(file)}};
}

}  // namespace vixen::tool
