// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/batch_decoder.h"
#include "proto/config/settings.h"
#include "proto/transport/channel.h"
#include "proto/transport/collect_call.h"
#include "tool/actor_channel.h"
#include "tool/collect/sources.h"
#include "tool/collect/weights_keeper.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::tool {
namespace {

using Stream = transport::CollectCall;

constexpr uint64_t kMostAhead = 2;  // launches in flight beside the one that is read

absl::StatusOr<v1::Encoding> EncodingFor(const ActorSource& source, v1::Actor::Stub& stub) {
  grpc::ClientContext context;
  transport::SetDeadline(context, kAnswerDeadline);
  v1::GetInfoResponse info;
  VIXEN_RETURN_IF_ERROR(
      FromGrpc(stub.GetInfo(&context, v1::GetInfoRequest(), &info), "GetInfo", source.address));
  VIXEN_ASSIGN_OR_RETURN(const v1::EnvironmentSettings settings,
                         config::ParseSettingsBytes(info.settings(), source.address));
  v1::Encoding encoding;
  encoding.set_terms(true);
  encoding.set_slot_states(settings.carry_over());
  return encoding;
}

void Open(const ActorSource& source, const v1::Encoding& encoding, Stream& stream) {
  v1::CollectRequest request;
  v1::Open& open = *request.mutable_open();
  open.set_policy(source.policy);
  open.set_group(base::StrCat("collect-", getpid()));
  open.set_consumer("collect");
  *open.mutable_encoding() = encoding;
  stream.Write(request);
}

void GiveCredit(int64_t launches, Stream& stream) {
  if (launches == 0) return;
  v1::CollectRequest request;
  request.mutable_credit()->set_n(launches);
  stream.Write(request);
}

void Acknowledge(const v1::BatchHeader& header, Stream& stream) {
  v1::CollectRequest request;
  request.mutable_ack()->set_run_id(header.run_id());
  request.mutable_ack()->set_sequence(header.sequence());
  stream.Write(request);
}

// Reads until `launches` batches were taken. The stream's own end is not an error here: its status
// says what it was.
absl::Status TakeBatches(const v1::Encoding& encoding, uint64_t launches, const BatchSink& sink,
                         uint64_t& taken, Stream& stream) {
  std::optional<codec::BatchDecoder> decoder;
  v1::Opened opened;
  grpc::ByteBuffer message;
  v1::CollectResponse response;
  uint64_t credited = std::min(launches, kMostAhead);
  while (taken < launches && stream.Read(message)) {
    if (!decoder) {
      VIXEN_RETURN_IF_ERROR(transport::Parse(message, response));
      if (!response.has_opened())
        return absl::InvalidArgumentError("the stream begins without opened");
      opened = response.opened();
      VIXEN_ASSIGN_OR_RETURN(decoder, codec::BatchDecoder::Create(opened, encoding));
      GiveCredit(static_cast<int64_t>(credited), stream);
      continue;
    }
    VIXEN_ASSIGN_OR_RETURN(std::optional<codec::DecodedBatch> decoded,
                           transport::AddTo(*decoder, message, response));
    if (!decoded) continue;
    const codec::RecordedBatch recorded = codec::RecordOf(std::move(*decoded), opened);
    VIXEN_RETURN_IF_ERROR(sink(recorded));
    Acknowledge(recorded.header, stream);
    ++taken;
    if (credited < launches) {
      ++credited;
      GiveCredit(1, stream);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CollectFromActor(const ActorSource& source, uint64_t launches, const BatchSink& sink) {
  VIXEN_ASSIGN_OR_RETURN(const auto channel, ConnectToActor(source.address, source.tls));
  const auto stub = v1::Actor::NewStub(channel);
  VIXEN_ASSIGN_OR_RETURN(const v1::Encoding encoding, EncodingFor(source, *stub));

  grpc::ClientContext context;
  Stream stream(*channel, context);
  Open(source, encoding, stream);
  uint64_t taken = 0;
  std::optional<WeightsKeeper> keeper;
  if (!source.weights_out.empty()) {
    keeper.emplace(channel, source.address, source.weights_out);
  }
  const BatchSink keep = [&](const codec::RecordedBatch& recorded) {
    const absl::Status kept = keeper ? keeper->Keep(recorded.header) : absl::OkStatus();
    return kept.ok() ? sink(recorded) : kept;
  };
  const absl::Status status = TakeBatches(encoding, launches, keep, taken, stream);
  if (!status.ok()) {
    context.TryCancel();
    stream.Finish();
    return status;
  }
  stream.WritesDone();
  VIXEN_RETURN_IF_ERROR(FromGrpc(stream.Finish(), "Collect", source.address));
  if (taken < launches) {
    return absl::UnavailableError(base::StrCat("the actor at ", source.address,
                                               " ended the stream after ", taken, " of ", launches,
                                               " batches"));
  }
  return absl::OkStatus();
}

}  // namespace vixen::tool
