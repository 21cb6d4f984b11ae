// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/service/status.h"
#include "server/service/stream_machine.h"

namespace vixen::server {

// A server stream whose messages come from a function, one at a time: nothing is read ahead of a
// slow client.
template <typename Response>
class ByteStream final : public StreamMachine<grpc::ServerWriteReactor<Response>> {
 public:
  // Fills the next message; false at the end.
  using Source = std::function<absl::StatusOr<bool>(Response& response)>;

  // The reactor of a call, which owns itself.
  static ByteStream* Start(Source source) {
    auto stream = std::make_shared<ByteStream>(std::move(source));
    ByteStream* reactor = stream.get();
    reactor->Keep(std::move(stream));
    std::lock_guard lock(reactor->mutex_);
    reactor->NextLocked();
    return reactor;
  }
  explicit ByteStream(Source source) : source_(std::move(source)) {}

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(this->mutex_);
    if (this->WriteDoneLocked(ok)) NextLocked();
  }

 private:
  void NextLocked() {
    if (!this->MayWriteLocked()) return;
    response_.Clear();
    const absl::StatusOr<bool> more = source_(response_);
    if (!more.ok()) return this->EndLocked(ToGrpc(more.status()));
    if (!*more) return this->EndLocked(grpc::Status::OK);
    this->WriteLocked(&response_);
  }

  const Source source_;
  Response response_;
};

}  // namespace vixen::server
