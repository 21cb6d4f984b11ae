// SPDX-License-Identifier: Apache-2.0
// Parameters in tensor files: strict reading, writing, and the policy bundle.
#include <cmath>
#include <cstring>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/env/settings.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {
namespace {

absl::Status CheckFinite(const std::string& source, const std::string& name,
                         std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          base::StrCat(source, ": tensor ", name, "[", i, "] = ", values[i], " is not finite"));
    }
  }
  return absl::OkStatus();
}

absl::Status CopyTensor(const base::TensorFile& file, const std::string& name,
                        std::initializer_list<int64_t> shape, std::span<float> to) {
  absl::StatusOr<std::span<const float>> values = file.Get<float>(name, shape);
  if (!values.ok()) return absl::InvalidArgumentError(values.status().message());
  VIXEN_RETURN_IF_ERROR(CheckFinite(file.source(), name, *values));
  std::memcpy(to.data(), values->data(), to.size_bytes());
  return absl::OkStatus();
}

bool IsExpected(const std::vector<LayerLayout>& layers, std::string_view name) {
  for (const LayerLayout& layer : layers) {
    if (name == layer.name + ".weight" || name == layer.name + ".bias") return true;
  }
  return false;
}

bool HasPrefix(const base::TensorFile& file, std::string_view prefix) {
  for (const base::TensorView& tensor : file.tensors()) {
    if (tensor.name.starts_with(prefix)) return true;
  }
  return false;
}

// Inputs and outputs of a layer, from the shape of its weight.
struct Shape {
  uint32_t outputs = 0;
  uint32_t inputs = 0;
};

absl::StatusOr<Shape> ShapeOf(const base::TensorFile& file, const std::string& name) {
  const base::TensorView* tensor = file.Find(name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(base::StrCat(file.source(), ": no tensor ", name));
  }
  if (tensor->shape.size() != 2 || tensor->shape[0] < 1 || tensor->shape[1] < 1 ||
      tensor->shape[0] > 4096 || tensor->shape[1] > 4096) {
    return absl::InvalidArgumentError(base::StrCat(file.source(), ": tensor ", name, " is ",
                                                   tensor->Describe(),
                                                   ", expected [outputs, inputs]"));
  }
  return Shape{static_cast<uint32_t>(tensor->shape[0]), static_cast<uint32_t>(tensor->shape[1])};
}

absl::StatusOr<uint64_t> VersionIn(const base::TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return 0;
  uint64_t version = 0;
  if (!absl::SimpleAtoi(found->second, &version)) {
    return absl::InvalidArgumentError(base::StrCat(file.source(), ": metadata ", key, " = \"",
                                                   found->second, "\" is not a whole number"));
  }
  return version;
}

}  // namespace

absl::StatusOr<Parameters> ReadParameters(const base::TensorFile& file, std::string_view prefix,
                                          const Architecture& architecture, WeightsKind kind) {
  VIXEN_RETURN_IF_ERROR(architecture.Check());
  const std::vector<LayerLayout> layers = LayersOf(architecture, kind);
  for (const base::TensorView& tensor : file.tensors()) {
    std::string_view name = tensor.name;
    if (!name.starts_with(prefix)) continue;
    if (!IsExpected(layers, name.substr(prefix.size()))) {
      return absl::InvalidArgumentError(base::StrCat(file.source(), ": unexpected tensor ", name,
                                                     " among the ", WeightsKindName(kind),
                                                     " weights"));
    }
  }
  Parameters parameters{architecture, kind, std::vector<float>(ParameterCount(architecture, kind))};
  const std::span<float> values(parameters.values);
  for (const LayerLayout& layer : layers) {
    VIXEN_RETURN_IF_ERROR(
        CopyTensor(file, base::StrCat(prefix, layer.name, ".weight"),
                   {int64_t{layer.outputs}, int64_t{layer.inputs}},
                   values.subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs)));
    VIXEN_RETURN_IF_ERROR(CopyTensor(file, base::StrCat(prefix, layer.name, ".bias"),
                                     {int64_t{layer.outputs}},
                                     values.subspan(layer.bias_offset, layer.outputs)));
  }
  return parameters;
}

absl::StatusOr<Architecture> ArchitectureOf(const base::TensorFile& file, std::string_view prefix) {
  const auto shape = [&](std::string_view layer) {
    return ShapeOf(file, base::StrCat(prefix, layer, ".weight"));
  };
  VIXEN_ASSIGN_OR_RETURN(const Shape shared0, shape("shared_layers.0"));
  VIXEN_ASSIGN_OR_RETURN(const Shape shared1, shape("shared_layers.1"));
  VIXEN_ASSIGN_OR_RETURN(const Shape value0, shape("value_layers.0"));
  VIXEN_ASSIGN_OR_RETURN(const Shape advantage0, shape("advantage_layers.0"));
  if (shared0.inputs <= kPortfolioFeatures) {
    return absl::InvalidArgumentError(
        base::StrCat(file.source(), ": tensor ", prefix, "shared_layers.0.weight has ",
                     shared0.inputs, " inputs, expected at least ", kPortfolioFeatures + 1));
  }
  Architecture architecture;
  architecture.features = shared0.inputs - kPortfolioFeatures;
  architecture.hidden1 = shared0.outputs;
  architecture.hidden2 = shared1.outputs;
  architecture.value_hidden = value0.outputs;
  architecture.advantage_hidden = advantage0.outputs;
  if (file.Find("curiosity.0.weight") != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(const Shape curiosity, ShapeOf(file, "curiosity.0.weight"));
    architecture.curiosity_hidden = curiosity.outputs;
  }
  if (absl::Status status = architecture.Check(); !status.ok()) {
    return absl::InvalidArgumentError(base::StrCat(file.source(), ": ", status.message()));
  }
  return architecture;
}

void WriteParameters(const Parameters& parameters, std::string_view prefix,
                     base::TensorFileWriter& writer) {
  const std::span<const float> values(parameters.values);
  for (const LayerLayout& layer : LayersOf(parameters.architecture, parameters.kind)) {
    writer.Tensor(base::StrCat(prefix, layer.name, ".weight"),
                  {int64_t{layer.outputs}, int64_t{layer.inputs}},
                  values.subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs));
    writer.Tensor(base::StrCat(prefix, layer.name, ".bias"), {int64_t{layer.outputs}},
                  values.subspan(layer.bias_offset, layer.outputs));
  }
}

absl::StatusOr<PolicyWeights> LoadPolicyWeights(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(path));
  const bool bundle = HasPrefix(file, "online.");
  const std::string_view prefix = bundle ? "online." : "";
  for (const base::TensorView& tensor : file.tensors()) {
    if (bundle && !tensor.name.starts_with("online.") && !tensor.name.starts_with("target.") &&
        !tensor.name.starts_with("curiosity.")) {
      return absl::InvalidArgumentError(
          base::StrCat(path, ": unexpected tensor ", tensor.name,
                       " in a bundle of online., target. and curiosity. weights"));
    }
  }
  VIXEN_ASSIGN_OR_RETURN(const Architecture architecture, ArchitectureOf(file, prefix));
  PolicyWeights weights;
  VIXEN_ASSIGN_OR_RETURN(weights.online,
                         ReadParameters(file, prefix, architecture, WeightsKind::kOnline));
  VIXEN_ASSIGN_OR_RETURN(weights.online_version, VersionIn(file, "online_version"));
  if (bundle && HasPrefix(file, "target.")) {
    VIXEN_ASSIGN_OR_RETURN(weights.target,
                           ReadParameters(file, "target.", architecture, WeightsKind::kTarget));
    VIXEN_ASSIGN_OR_RETURN(weights.target_version, VersionIn(file, "target_version"));
  } else {
    weights.target = weights.online;
    weights.target.kind = WeightsKind::kTarget;
    weights.target_version = weights.online_version;
  }
  weights.curiosity.architecture = architecture;
  weights.curiosity.kind = WeightsKind::kCuriosity;
  if (bundle && HasPrefix(file, "curiosity.")) {
    VIXEN_ASSIGN_OR_RETURN(weights.curiosity, ReadParameters(file, "curiosity.", architecture,
                                                             WeightsKind::kCuriosity));
    VIXEN_ASSIGN_OR_RETURN(weights.curiosity_version, VersionIn(file, "curiosity_version"));
  }
  const auto scaler = file.metadata().find("scaler_fingerprint");
  if (scaler != file.metadata().end()) weights.scaler_fingerprint = scaler->second;
  return weights;
}

}  // namespace vixen::kernels
