// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "base/tensor_file.h"
#include "kernels/nn/network.h"
#include "proto/codec/convert.h"
#include "vixen/v1/weights.pb.h"

namespace vixen::server {

// One push: header and image of parameters that are all `value` but for a few.
struct TestWeights {
  v1::WeightsHeader header;
  std::string image;
};

inline kernels::Parameters ConstantParameters(const kernels::Architecture& architecture,
                                              kernels::WeightsKind kind, float value) {
  kernels::Parameters parameters{architecture, kind, {}};
  parameters.values.assign(kernels::ParameterCount(architecture, kind), value);
  return parameters;
}

inline TestWeights MakeTestWeights(const kernels::Parameters& parameters, uint64_t version,
                                   const std::string& scaler_fingerprint,
                                   const std::string& policy = "p") {
  TestWeights weights;
  base::TensorFileWriter writer;
  kernels::WriteParameters(parameters, "", writer);
  weights.image = *writer.Serialize();
  weights.header.set_policy(policy);
  weights.header.set_kind(codec::ToProto(parameters.kind));
  weights.header.set_version(version);
  *weights.header.mutable_architecture() = codec::ToProto(parameters.architecture);
  const base::Sha256Digest sha256 = kernels::ParametersSha256(parameters);
  weights.header.set_sha256(std::string(sha256.begin(), sha256.end()));
  weights.header.set_size(weights.image.size());
  weights.header.set_scaler_fingerprint(scaler_fingerprint);
  return weights;
}

// Header first, then chunks.
inline std::vector<v1::PushWeightsRequest> RequestsOf(const TestWeights& weights,
                                                      size_t chunk_bytes = 1 << 16) {
  std::vector<v1::PushWeightsRequest> requests(1);
  *requests[0].mutable_header() = weights.header;
  for (size_t at = 0; at < weights.image.size(); at += chunk_bytes) {
    requests.emplace_back().set_chunk(weights.image.substr(at, chunk_bytes));
  }
  return requests;
}

}  // namespace vixen::server
