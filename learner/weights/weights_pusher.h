// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "kernels/nn/network.h"
#include "learner/client/backoff.h"
#include "learner/client/event.h"
#include "vixen/v1/actor.grpc.pb.h"
#include "vixen/v1/weights.grpc.pb.h"

namespace vixen::learner {

// One kind's weights on their way to the actors; shared by all pushers.
struct WeightsPart {
  kernels::Parameters parameters;
  uint64_t version = 0;
  float epsilon = 0;           // goes along with the online weights
  uint64_t training_step = 0;  // updates behind them
};

struct PusherOptions {
  size_t actor = 0;
  std::string address, policy;
  std::string scaler_fingerprint;  // raw bytes
};

// Sends weights to one actor on a thread and connection of its own. The mailbox holds one part a
// kind and the latest wins. A push counts only when the actor's SHA-256 of what it read back equals
// ours and its probe outputs are within tolerance. Puts WeightsLive when the mailbox ran empty,
// WeightsBehind on an older version, ClientFailed on a refusal that repeating cannot cure;
// otherwise tries again with backoff.
class WeightsPusher {
 public:
  WeightsPusher(PusherOptions options, std::shared_ptr<grpc::Channel> channel, EventQueue& events);
  ~WeightsPusher();

  void Start();
  void Submit(std::shared_ptr<const WeightsPart> part);
  // Cuts a push short. The queue must be closed or be read meanwhile.
  void Stop();

 private:
  using Mailbox = std::array<std::shared_ptr<const WeightsPart>, 3>;

  void Run();
  absl::Status Push(const WeightsPart& part);
  absl::Status Send(const WeightsPart& part, const std::string& what, grpc::ClientContext& context);
  // Waits for a part; null when stopping.
  std::shared_ptr<const WeightsPart> Take();
  void PutBack(std::shared_ptr<const WeightsPart> part);
  bool Empty();
  void ReportBehind();

  const PusherOptions options_;
  const std::unique_ptr<v1::Weights::Stub> weights_;
  const std::unique_ptr<v1::Actor::Stub> actor_;
  EventQueue& events_;
  StopFlag stop_;

  std::mutex mutex_;
  std::condition_variable filled_;
  Mailbox mailbox_;
  grpc::ClientContext* context_ = nullptr;  // of the live push
  std::thread thread_;
};

}  // namespace vixen::learner
