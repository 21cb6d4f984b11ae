// SPDX-License-Identifier: Apache-2.0
// The networks of a learner's checkpoint, as its files hold them, for the smallest architecture.
#pragma once

#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "base/tensor_file.h"
#include "kernels/nn/network.h"
#include "learner/trainer/initial_weights.h"

namespace vixen::fuzz {

class HonestNetworks {
 public:
  HonestNetworks() : weight_bytes_(Weights()), optimizer_bytes_(Optimizer()) {}

  static kernels::Architecture Architecture() {
    return {.features = 1,
            .hidden1 = 16,
            .hidden2 = 16,
            .value_hidden = 16,
            .advantage_hidden = 16,
            .curiosity_hidden = 16};
  }

  const base::TensorFile& weights() const { return weights_; }
  const base::TensorFile& optimizer() const { return optimizer_; }

 private:
  using Kind = kernels::WeightsKind;

  static std::string Weights() {
    const auto online = learner::InitialWeights(Architecture(), Kind::kOnline, 1);
    const auto curiosity = learner::InitialWeights(Architecture(), Kind::kCuriosity, 2);
    base::TensorFileWriter writer;
    kernels::WriteParameters(online, "online.", writer);
    kernels::WriteParameters(online, "target.", writer);
    kernels::WriteParameters(curiosity, "curiosity.", writer);
    return writer.Serialize().value();
  }
  static std::string Optimizer() {
    const auto network = learner::InitialWeights(Architecture(), Kind::kOnline, 3);
    const auto curiosity = learner::InitialWeights(Architecture(), Kind::kCuriosity, 4);
    const float steps = 7;
    base::TensorFileWriter writer;
    for (const char* moment : {"first.", "second."}) {
      kernels::WriteParameters(network, std::string("network.") + moment, writer);
      kernels::WriteParameters(curiosity, std::string("curiosity.") + moment, writer);
    }
    writer.Tensor<float>("network.steps", {1}, std::span(&steps, 1));
    writer.Tensor<float>("curiosity.steps", {1}, std::span(&steps, 1));
    return writer.Serialize().value();
  }
  static base::TensorFile Parsed(const std::string& bytes) {
    return base::TensorFile::Parse(std::as_bytes(std::span<const char>(bytes)), "networks").value();
  }

  const std::string weight_bytes_, optimizer_bytes_;
  const base::TensorFile weights_ = Parsed(weight_bytes_);
  const base::TensorFile optimizer_ = Parsed(optimizer_bytes_);
};

}  // namespace vixen::fuzz
