// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "kernels/nn/network.h"
#include "vixen/v1/weights.grpc.pb.h"

namespace vixen::tool {

// Keeps the weights that batches were made with, as the actor gives them (GetWeights), in a folder
// that vixen audit reads (kernels/nn/weights_archive.h). An actor holds the live version only: one
// that was replaced before it could be asked for is told on stderr.
class WeightsKeeper {
 public:
  WeightsKeeper(const std::shared_ptr<grpc::Channel>& channel, std::string address,
                std::string folder)
      : stub_(v1::Weights::NewStub(channel)),
        address_(std::move(address)),
        folder_(std::move(folder)) {}

  // Every kind that the batch names. The actor's errors, and those of the disk.
  absl::Status Keep(const v1::BatchHeader& header);

 private:
  using Key = std::pair<kernels::WeightsKind, uint64_t>;

  // The live version of a kind.
  absl::Status KeepLive(const std::string& policy, kernels::WeightsKind kind);

  const std::unique_ptr<v1::Weights::Stub> stub_;
  const std::string address_;
  const std::string folder_;
  std::set<Key> kept_, missed_;
};

}  // namespace vixen::tool
