// SPDX-License-Identifier: Apache-2.0
// Shapes, names and host copies of the networks' parameters; the file names of the tensors are a
// contract (docs/formats.md, "Weights").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "base/tensor_file.h"

namespace vixen::kernels {

enum class WeightsKind : uint8_t { kOnline = 0, kTarget = 1, kCuriosity = 2 };
std::string_view WeightsKindName(WeightsKind kind);  // "online", "target", "curiosity"

// The widths of a policy's networks. Defaults are the published design's.
struct Architecture {
  uint32_t features = 51;           // F; state width S = F + 3
  uint32_t hidden1 = 256;           // H1
  uint32_t hidden2 = 256;           // H2
  uint32_t value_hidden = 128;      // HV
  uint32_t advantage_hidden = 128;  // HA
  uint32_t curiosity_hidden = 64;   // HC

  uint32_t state() const { return features + 3; }
  uint32_t embedding() const { return state() < 32 ? state() : 32; }
  friend bool operator==(const Architecture&, const Architecture&) = default;

  // INVALID_ARGUMENT naming the width outside the specification's table.
  absl::Status Check() const;
  // "51+3-256-256/128,128 curiosity 64", for messages and logs.
  std::string Describe() const;
};

// One linear layer's place in a flat parameter vector: weight [outputs, inputs] row-major, then
// bias.
struct LayerLayout {
  std::string name;  // "shared_layers.0"
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  size_t weight_offset = 0;  // in floats
  size_t bias_offset = 0;
};

// Layers in forward order: shared_layers.{0,1}, value_layers.{0,1}, advantage_layers.{0,1}; for
// curiosity "0" and "1".
std::vector<LayerLayout> LayersOf(const Architecture& architecture, WeightsKind kind);
size_t ParameterCount(const Architecture& architecture, WeightsKind kind);

// One kind's parameters on the host, flat in the order of LayersOf.
struct Parameters {
  Architecture architecture;
  WeightsKind kind = WeightsKind::kOnline;
  std::vector<float> values;
};

// SHA-256 over the tensors' raw bytes in name order (byte-wise ascending by tensor name). This is
// the digest that PushWeights carries and that the actor computes from what it reads back.
base::Sha256Digest ParametersSha256(const Parameters& parameters);

// Strict: every tensor there, none extra, dtype F32, exact shape, finite. `prefix` is "" or
// "online." and so on; with a prefix, tensors outside it are ignored. Errors: INVALID_ARGUMENT
// naming source, tensor, expectation, index and value.
absl::StatusOr<Parameters> ReadParameters(const base::TensorFile& file, std::string_view prefix,
                                          const Architecture& architecture, WeightsKind kind);
// The widths that the shapes in a file imply (for inspect and eval). `prefix` as above.
absl::StatusOr<Architecture> ArchitectureOf(const base::TensorFile& file, std::string_view prefix);
// Adds the tensors to a file under construction; `parameters` must outlive the writer.
void WriteParameters(const Parameters& parameters, std::string_view prefix,
                     base::TensorFileWriter& writer);

// All three kinds from a file: a bundle (prefixes online., target., curiosity.) or online alone
// (then target = online). `curiosity` is empty when the file has none; needed unless curiosity_max
// is 0.
struct PolicyWeights {
  Parameters online;
  Parameters target;
  Parameters curiosity;
  uint64_t online_version = 0;
  uint64_t target_version = 0;
  uint64_t curiosity_version = 0;
  std::string scaler_fingerprint;  // hex, from the metadata; empty when absent
};
absl::StatusOr<PolicyWeights> LoadPolicyWeights(const std::string& path);

// The probe state of weight verification: s[j] = ((j·37 mod 64) − 32)/32.
std::vector<float> ProbeState(uint32_t state_width);

}  // namespace vixen::kernels
