// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/codec/column_layout.h"
#include "server/collector/policy.h"
#include "server/service/actor_state.h"
#include "server/service/batch_messages.h"
#include "server/service/stream_machine.h"
#include "server/service/wire.h"

namespace vixen::server {

// One Collect call: turns messages into calls of Delivery and what Delivery hands out into
// messages. Reads run one at a time and without the stream's lock (they may wake other streams);
// writes are chosen under the lock.
class CollectStream final
    : public StreamMachine<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>,
      public std::enable_shared_from_this<CollectStream> {
 public:
  CollectStream(ActorState& state, grpc::CallbackServerContext* context)
      : state_(state), context_(context) {
    forget_finish_ = state.forget_finish;
  }

  // Begins reading; `refused` (not OK) ends the call at once instead.
  void Begin(const absl::Status& refused);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

  // Something may be ready. Any thread.
  void Wake();
  // Ends the stream when its peer took nothing, or did not open, for `deadline`; cuts it off after
  // twice that.
  void CheckProgress(Clock::time_point now, Clock::duration deadline);
  // Tells the client, sends what is reserved, ends with UNAVAILABLE.
  void Drain();
  // Ends now, for a shutdown that cannot wait.
  void Abort(const absl::Status& status);

 private:
  struct Session {
    std::shared_ptr<Policy> policy;
    StreamId id = 0;  // 0: not opened
  };

  void AtDone() override;
  absl::Status Handle(const v1::CollectRequest& request);
  absl::Status HandleOpen(const v1::Open& open);
  void SayWhatIsMissing(const std::string& weights);
  void HalfClose();
  void Fail(const absl::Status& status);
  void Leave(grpc::Status status);
  // Gives what the stream has to its group again. Without the lock: it may wake other streams.
  void Detach();
  Session session();
  std::string who();

  void CountWriteLocked() const;
  // Starts the next write. Without the lock.
  void Pump();
  // The status to end with, when everything that the stream will get was sent.
  std::optional<grpc::Status> PumpLocked();
  void StartBatchLocked(const Outgoing& outgoing);
  absl::StatusOr<std::shared_ptr<const EncodedOutgoing>> Encode(const Outgoing& outgoing) const;
  void SendBatchLocked(uint32_t delivery,
                       const absl::StatusOr<std::shared_ptr<const EncodedOutgoing>>& encoded);
  void SendNextPartLocked();
  void SendLocked(const v1::CollectResponse& response);

  ActorState& state_;
  grpc::CallbackServerContext* const context_;
  const Clock::time_point began_ = Clock::now();

  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;

  std::shared_ptr<Policy> policy_;
  StreamId id_ = 0;
  std::string who_;  // policy, group, consumer and run as fields of log lines
  std::optional<codec::ColumnLayout> layout_;
  bool open_ = false;
  bool half_closed_ = false;
  bool drain_ = false;
  bool leaving_ = false;  // detached, or about to be
  bool weights_notice_sent_ = false;
  std::deque<v1::CollectResponse> messages_;  // `opened` or a notice: goes between batches
  bool encoding_ = false;                     // the encoding thread has the next batch
  std::optional<BatchMessages> sending_;
  std::optional<Clock::time_point> evicted_at_;
  bool done_ = false;  // gRPC is done: context_ is gone
};

}  // namespace vixen::server
