// SPDX-License-Identifier: Apache-2.0
#include "server/weights/weights_intake.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "kernels/nn/network.h"
#include "proto/codec/convert.h"

namespace vixen::server {
namespace {

constexpr size_t kDigestBytes = 32;

absl::Status CheckEpsilon(const v1::WeightsHeader& header) {
  if (!header.has_epsilon() || (header.epsilon() >= 0.0f && header.epsilon() <= 1.0f)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      base::StrCat("header.epsilon is ", header.epsilon(), ", allowed is 0 to 1"));
}

bool IsEpsilonAlone(const v1::WeightsHeader& header) {
  return header.kind() == v1::WEIGHTS_KIND_UNSPECIFIED && header.size() == 0;
}

}  // namespace

absl::Status WeightsIntake::CheckHeader(const v1::WeightsHeader& header) const {
  VIXEN_RETURN_IF_ERROR(CheckName("header.policy", header.policy()));
  VIXEN_RETURN_IF_ERROR(CheckEpsilon(header));
  if (IsEpsilonAlone(header)) {
    if (header.has_epsilon()) return absl::OkStatus();
    return absl::InvalidArgumentError("header has neither weights nor epsilon");
  }
  VIXEN_RETURN_IF_ERROR(codec::FromProto(header.kind()).status());
  if (header.version() == 0) {
    return absl::InvalidArgumentError("header.version is 0, versions begin with 1");
  }
  if (header.size() == 0) {
    return absl::InvalidArgumentError("header.size is 0, the bytes of the safetensors image");
  }
  if (header.sha256().size() != kDigestBytes) {
    return absl::InvalidArgumentError(
        base::StrCat("header.sha256 has ", header.sha256().size(), " bytes, 32 are needed"));
  }
  if (header.scaler_fingerprint().size() != kDigestBytes) {
    return absl::InvalidArgumentError(base::StrCat("header.scaler_fingerprint has ",
                                                   header.scaler_fingerprint().size(),
                                                   " bytes, 32 are needed"));
  }
  const kernels::Architecture pushed = codec::FromProto(header.architecture());
  const kernels::Architecture& own = run_.collector.architecture;
  if (pushed != own) {
    return absl::FailedPreconditionError(
        base::StrCat("architecture is ", pushed.Describe(), ", this actor runs ", own.Describe()));
  }
  const std::string own_scaler(run_.scaler_fingerprint.begin(), run_.scaler_fingerprint.end());
  if (header.scaler_fingerprint() != own_scaler) {
    return absl::FailedPreconditionError(
        base::StrCat("scaler fingerprint is ", absl::BytesToHexString(header.scaler_fingerprint()),
                     ", this actor's dataset has ", absl::BytesToHexString(own_scaler),
                     "; train on the actor's dataset"));
  }
  if (header.size() > run_.limits.max_weights_bytes()) {
    return absl::ResourceExhaustedError(base::StrCat("header.size is ", header.size(),
                                                     ", max_weights_bytes is ",
                                                     run_.limits.max_weights_bytes()));
  }
  VIXEN_RETURN_IF_ERROR(policies_.CheckRoomForWeights(header.policy()));
  const std::shared_ptr<Policy> policy = policies_.Find(header.policy());
  return policy ? policy->weights.CheckVersion(header) : absl::OkStatus();
}

absl::StatusOr<v1::PushWeightsResponse> WeightsIntake::ApplyEpsilon(
    const v1::WeightsHeader& header) {
  const std::shared_ptr<Policy> policy = policies_.Find(header.policy());
  if (!policy) {
    return absl::FailedPreconditionError(
        base::StrCat("policy \"", header.policy(),
                     "\" has no weights yet; push weights before changing epsilon alone"));
  }
  return policy->weights.SetEpsilon(header.epsilon());
}

absl::StatusOr<v1::PushWeightsResponse> WeightsIntake::Apply(
    const v1::WeightsHeader& header, std::shared_ptr<const std::string> image) {
  if (IsEpsilonAlone(header)) return ApplyEpsilon(header);
  VIXEN_ASSIGN_OR_RETURN(const kernels::WeightsKind kind, codec::FromProto(header.kind()));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file,
                         base::TensorFile::Parse(std::as_bytes(std::span<const char>(*image)),
                                                 base::StrCat(kernels::WeightsKindName(kind),
                                                              " version ", header.version())));
  VIXEN_ASSIGN_OR_RETURN(const kernels::Parameters parameters,
                         kernels::ReadParameters(file, "", run_.collector.architecture, kind));
  const base::Sha256Digest sha256 = kernels::ParametersSha256(parameters);
  if (std::string(sha256.begin(), sha256.end()) != header.sha256()) {
    return absl::InvalidArgumentError(base::StrCat("SHA-256 of the tensors is ",
                                                   base::ToHex(sha256), ", the header announced ",
                                                   absl::BytesToHexString(header.sha256())));
  }
  VIXEN_RETURN_IF_ERROR(policies_.CheckRoomForWeights(header.policy()));
  VIXEN_ASSIGN_OR_RETURN(const std::shared_ptr<Policy> policy,
                         policies_.FindOrAdd(header.policy()));
  VIXEN_ASSIGN_OR_RETURN(v1::PushWeightsResponse response,
                         policy->weights.Stage(header, parameters, std::move(image)));
  if (!response.already_live()) {
    policy->metrics.WeightsApplied(static_cast<size_t>(kind));
  }
  return response;
}

void WeightsIntake::CountRefusal(const absl::Status& status) const {
  WeightsRefusal reason = WeightsRefusal::kInternal;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      reason = WeightsRefusal::kInvalid;
      break;
    case absl::StatusCode::kFailedPrecondition:
      reason = WeightsRefusal::kPrecondition;
      break;
    case absl::StatusCode::kAborted:
      reason = WeightsRefusal::kStale;
      break;
    case absl::StatusCode::kResourceExhausted:
      reason = WeightsRefusal::kLimit;
      break;
    default:
      break;
  }
  metrics_.weights_rejected[static_cast<size_t>(reason)]->Increment();
}

absl::Status WeightsIntake::TakeMemory(uint64_t bytes) {
  const uint64_t most = 2 * run_.limits.max_weights_bytes();
  uint64_t now = memory_;
  do {
    if (bytes > most - std::min(now, most)) {
      return absl::ResourceExhaustedError(base::StrCat("the weights uploads under way hold ", now,
                                                       " of ", most, " bytes; try again"));
    }
  } while (!memory_.compare_exchange_weak(now, now + bytes));
  return absl::OkStatus();
}

absl::Status WeightsUpload::Add(const v1::PushWeightsRequest& request) {
  if (request.part_case() == v1::PushWeightsRequest::kHeader) {
    if (has_header_) return absl::InvalidArgumentError("a second header came");
    VIXEN_RETURN_IF_ERROR(intake_.CheckHeader(request.header()));
    has_header_ = true;
    header_ = request.header();
    return absl::OkStatus();
  }
  if (request.part_case() != v1::PushWeightsRequest::kChunk) {
    return absl::InvalidArgumentError("an empty or unknown message came");
  }
  if (!has_header_) return absl::InvalidArgumentError("a chunk came before the header");
  const std::string& chunk = request.chunk();
  if (chunk.empty() || chunk.size() > kMostWeightsChunkBytes) {
    return absl::InvalidArgumentError(base::StrCat(
        "a chunk has ", chunk.size(), " bytes, allowed is 1 to ", kMostWeightsChunkBytes));
  }
  if (chunk.size() > header_.size() - image_.size()) {
    return absl::InvalidArgumentError(
        base::StrCat("more than header.size ", header_.size(), " bytes came"));
  }
  VIXEN_RETURN_IF_ERROR(intake_.TakeMemory(chunk.size()));
  taken_ += chunk.size();
  image_ += chunk;
  return absl::OkStatus();
}

absl::Status WeightsUpload::CheckComplete() const {
  if (!has_header_) return absl::InvalidArgumentError("the stream ended without a header");
  if (image_.size() == header_.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(image_.size(), " bytes came, header.size is ", header_.size()));
}

absl::StatusOr<v1::PushWeightsResponse> WeightsUpload::Apply() {
  VIXEN_RETURN_IF_ERROR(CheckComplete());
  return intake_.Apply(header_, std::make_shared<const std::string>(std::move(image_)));
}

}  // namespace vixen::server
