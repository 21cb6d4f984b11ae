// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "proto/codec/batch_decoder.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::server {

// A plain synchronous consumer. Every call ends by the deadline of the whole stream at the latest.
class CollectClient {
 public:
  explicit CollectClient(const std::shared_ptr<grpc::Channel>& channel, int seconds = 60)
      : stub_(v1::Actor::NewStub(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
    stream_ = stub_->Collect(&context_);
  }
  // A stream that was not ended by its test is cancelled.
  ~CollectClient() {
    if (!stream_) return;
    context_.TryCancel();
    stream_->Finish();
  }

  static v1::Open OpenOf(const std::string& policy, const std::string& group,
                         const std::string& consumer) {
    v1::Open open;
    open.set_policy(policy);
    open.set_group(group);
    open.set_consumer(consumer);
    return open;
  }

  // Sends `open` and reads `opened`. False when the call ended instead: see Finish().
  bool Open(const v1::Open& open) {
    v1::CollectRequest request;
    *request.mutable_open() = open;
    encoding_ = open.encoding();
    if (!stream_->Write(request)) return false;
    v1::CollectResponse response;
    if (!stream_->Read(&response)) return false;
    EXPECT_TRUE(response.has_opened()) << response.ShortDebugString();
    opened = response.opened();
    auto decoder = codec::BatchDecoder::Create(opened, encoding_);
    EXPECT_TRUE(decoder.ok()) << decoder.status();
    if (decoder.ok()) decoder_.emplace(*std::move(decoder));
    return decoder_.has_value();
  }
  bool Credit(int64_t n) {
    v1::CollectRequest request;
    request.mutable_credit()->set_n(n);
    return stream_->Write(request);
  }
  bool Acknowledge(uint64_t sequence) {
    v1::CollectRequest request;
    request.mutable_ack()->set_run_id(opened.run_id());
    request.mutable_ack()->set_sequence(sequence);
    return stream_->Write(request);
  }
  bool Send(const v1::CollectRequest& request) { return stream_->Write(request); }

  // The next whole batch; nullopt when the call ended. Notices are kept in `notices`.
  std::optional<codec::DecodedBatch> Next() {
    v1::CollectResponse response;
    while (stream_->Read(&response)) {
      if (response.has_notice()) notices.push_back(response.notice());
      auto batch = decoder_->Add(response);
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok()) return std::nullopt;
      if (*batch) return std::move(**batch);
    }
    return std::nullopt;
  }
  // Reads until one more notice came. False when a batch or the end came before it.
  bool NextNotice() {
    v1::CollectResponse response;
    if (!stream_->Read(&response) || !response.has_notice()) return false;
    notices.push_back(response.notice());
    return true;
  }
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }

  // Reads what is left and gives the status of the call.
  grpc::Status Finish() {
    v1::CollectResponse response;
    while (stream_->Read(&response)) {
      if (response.has_notice()) notices.push_back(response.notice());
    }
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    return status;
  }

  v1::Opened opened;
  std::vector<v1::Notice> notices;

 private:
  std::unique_ptr<v1::Actor::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CollectRequest, v1::CollectResponse>> stream_;
  v1::Encoding encoding_;
  std::optional<codec::BatchDecoder> decoder_;
};

}  // namespace vixen::server
