// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "learner/client/backoff.h"
#include "learner/client/event.h"
#include "learner/client/run_book.h"
#include "proto/transport/collect_call.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::learner {

struct LinkOptions {
  size_t actor = 0;     // its number, in events
  std::string address;  // for messages
  std::string policy, group, consumer;
  std::string dataset_fingerprint;  // raw bytes: both ends must hold the same bars
  // How long the name may be taken: a stream that broke is noticed by the actor only after a while.
  std::chrono::milliseconds name_taken_wait{60'000};
  // Judges what the actor says it is; an error is final.
  std::function<absl::Status(const v1::GetInfoResponse&)> check;
};

// One actor's Collect stream: a thread connects, reads, decodes and puts events into the queue
// (waiting there when it is full), and connects again for ever with backoff when the stream breaks.
// Writes come from the training thread. Batches in memory are bounded by the credit given.
class ActorLink {
 public:
  // `events` and `book` must outlive the link.
  ActorLink(LinkOptions options, std::shared_ptr<grpc::Channel> channel, const RunBook& book,
            EventQueue& events);
  ~ActorLink();

  void Start();

  // False when `stream` is no longer the live one: its credit died with it.
  bool SendCredit(uint64_t stream, int64_t launches);
  // After insert. A batch of an ended stream is acknowledged on the live one if the run is the
  // same.
  void SendAcknowledge(uint64_t run_id, uint64_t sequence);
  // These batches are in a checkpoint on disk. Nothing when the live run is another.
  void SendDurable(const v1::RunRanges& ranges);

  // No more credit: the actor sends what was reserved and ends the stream. The link does not
  // reconnect.
  void HalfClose();
  // True when the thread has ended, waiting at most so long.
  bool WaitEnded(std::chrono::milliseconds most);
  // Cuts what is left and joins the thread. The queue must be closed or be read meanwhile.
  void Stop();

 private:
  using Stream = transport::CollectCall;

  void Run();
  // One connection from GetInfo to the stream's end.
  absl::Status Session();
  // What this link is about, as fields of log lines.
  std::string Who() const;
  absl::Status ReadInfo(v1::GetInfoResponse& info);
  // The call that Stop and HalfClose may cancel. False when they were called already.
  bool SetContext(grpc::ClientContext* context);
  absl::Status ReadAll(Stream& stream, const v1::GetInfoResponse& info);
  bool Write(const v1::CollectRequest& request);
  void SendOfRun(uint64_t run_id, v1::CollectRequest request);

  const LinkOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Actor::Stub> stub_;
  const RunBook& book_;
  EventQueue& events_;
  StopFlag stop_;
  StopFlag ended_;
  uint64_t session_ = 0;  // link thread only
  bool received_batch_ = false;

  std::mutex mutex_;
  grpc::ClientContext* context_ = nullptr;  // of the live call
  Stream* stream_ = nullptr;                // open for writing
  uint64_t stream_number_ = 0;
  uint64_t run_id_ = 0;
  bool opening_ = false;  // between `open` and `opened`: nothing else may be written
  std::vector<std::pair<uint64_t, v1::CollectRequest>> said_while_opening_;  // with its run

  std::thread thread_;
};

}  // namespace vixen::learner
