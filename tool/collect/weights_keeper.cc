// SPDX-License-Identifier: Apache-2.0
#include "tool/collect/weights_keeper.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <iostream>
#include <span>

#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "kernels/nn/weights_archive.h"
#include "proto/codec/convert.h"
#include "proto/transport/channel.h"
#include "tool/actor_channel.h"

namespace vixen::tool {
namespace {

using kernels::WeightsKind;

constexpr std::chrono::seconds kDeadline{30};

}  // namespace

absl::Status WeightsKeeper::Keep(const v1::BatchHeader& header) {
  const Key wanted[] = {{WeightsKind::kOnline, header.online_version()},
                        {WeightsKind::kTarget, header.target_version()},
                        {WeightsKind::kCuriosity, header.curiosity_version()}};
  for (const Key& key : wanted) {
    if (key.second == 0 || kept_.count(key) != 0 || missed_.count(key) != 0) continue;
    VIXEN_RETURN_IF_ERROR(KeepLive(header.policy(), key.first));
    if (kept_.count(key) != 0) continue;
    missed_.insert(key);
    std::cerr << base::StrCat(
        "vixen collect: ", kernels::WeightsKindName(key.first), " version ", key.second,
        ", which batch ", header.sequence(),
        " was made with, is no longer live and was not kept; a learner keeps every version with "
        "--weights_archive\n");
  }
  return absl::OkStatus();
}

absl::Status WeightsKeeper::KeepLive(const std::string& policy, WeightsKind kind) {
  grpc::ClientContext context;
  transport::SetDeadline(context, kDeadline);
  v1::GetWeightsRequest request;
  request.set_policy(policy);
  request.set_kind(codec::ToProto(kind));
  const auto stream = stub_->GetWeights(&context, request);
  v1::WeightsHeader header;
  std::string image;
  v1::GetWeightsResponse response;
  while (stream->Read(&response)) {
    if (response.has_header()) header = response.header();
    image += response.chunk();
  }
  VIXEN_RETURN_IF_ERROR(FromGrpc(stream->Finish(), "GetWeights", address_));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file,
                         base::TensorFile::Parse(std::as_bytes(std::span<const char>(image)),
                                                 base::StrCat("weights of ", address_)));
  kernels::ArchivedWeights weights{
      .policy = policy,
      .version = header.version(),
      .scaler_fingerprint = absl::BytesToHexString(header.scaler_fingerprint())};
  VIXEN_ASSIGN_OR_RETURN(
      weights.parameters,
      kernels::ReadParameters(file, "", codec::FromProto(header.architecture()), kind));
  VIXEN_RETURN_IF_ERROR(kernels::ArchiveWeights(folder_, weights).status());
  kept_.insert({kind, header.version()});
  return absl::OkStatus();
}

}  // namespace vixen::tool
