// SPDX-License-Identifier: Apache-2.0
#include "bench/stream/stream_bench.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/keep_memory.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "bench/median.h"
#include "bench/stream/naive_stream.h"
#include "bench/stream/ready_actor.h"
#include "bench/stream/sender_process.h"
#include "kernels/batch/batch.h"
#include "kernels/nn/network.h"
#include "learner/client/actor_link.h"
#include "learner/client/channel.h"
#include "proto/codec/convert.h"
#include "vixen/v1/weights.grpc.pb.h"

namespace vixen::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kWarmUp(0.4);
constexpr int64_t kAhead = 4;  // batches of credit
constexpr double kGiga = 1e9;

// A stream to measure: an actor of the sending process, or (no actor) the naive server.
struct Candidate {
  StreamBenchRow row;
  std::optional<size_t> actor;
  v1::TlsSettings tls;
  std::vector<double> rates;
  std::vector<double> sender_cpu;
  std::vector<double> receiver_cpu;
};

double OwnCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

absl::Status PushWeights(const std::shared_ptr<grpc::Channel>& channel) {
  v1::GetInfoResponse info;
  grpc::ClientContext info_context;
  learner::SetDeadline(info_context, std::chrono::seconds(5));
  VIXEN_RETURN_IF_ERROR(
      learner::FromGrpc(v1::Actor::NewStub(channel)->GetInfo(&info_context, {}, &info), "GetInfo"));
  const kernels::Architecture architecture = codec::FromProto(info.architecture());
  const auto stub = v1::Weights::NewStub(channel);
  for (const auto kind : {kernels::WeightsKind::kOnline, kernels::WeightsKind::kTarget}) {
    kernels::Parameters parameters{architecture, kind, {}};
    parameters.values.assign(kernels::ParameterCount(architecture, kind), 0.01f);
    base::TensorFileWriter writer;
    kernels::WriteParameters(parameters, "", writer);
    VIXEN_ASSIGN_OR_RETURN(const std::string image, writer.Serialize());
    v1::PushWeightsRequest request;
    v1::WeightsHeader& header = *request.mutable_header();
    header.set_policy(kPolicy);
    header.set_kind(codec::ToProto(kind));
    header.set_version(1);
    *header.mutable_architecture() = info.architecture();
    const base::Sha256Digest sha256 = kernels::ParametersSha256(parameters);
    header.set_sha256(std::string(sha256.begin(), sha256.end()));
    header.set_size(image.size());
    header.set_scaler_fingerprint(info.dataset().scaler_fingerprint());
    grpc::ClientContext context;
    learner::SetDeadline(context, std::chrono::seconds(10));
    v1::PushWeightsResponse response;
    const auto stream = stub->PushWeights(&context, &response);
    stream->Write(request);
    request.set_chunk(image);
    stream->Write(request);
    stream->WritesDone();
    VIXEN_RETURN_IF_ERROR(learner::FromGrpc(stream->Finish(), "PushWeights"));
  }
  return absl::OkStatus();
}

// Takes batches as a learner does (its stream thread decodes, this thread acknowledges and gives
// credit) and lets go of them.
class Consumer {
 public:
  Consumer(const std::string& address, const std::string& group,
           const std::shared_ptr<grpc::Channel>& channel)
      : book_(kPolicy, group), events_(static_cast<size_t>(kAhead)) {
    learner::LinkOptions options{
        .address = address, .policy = kPolicy, .group = group, .consumer = "bench"};
    options.check = [](const v1::GetInfoResponse&) { return absl::OkStatus(); };
    link_ = std::make_unique<learner::ActorLink>(std::move(options), channel, book_, events_);
    link_->Start();
  }
  ~Consumer() {
    events_.Close();
    link_->Stop();
  }

  // Payload bytes taken until `end`.
  absl::StatusOr<uint64_t> TakeUntil(Clock::time_point end) {
    uint64_t bytes = 0;
    while (Clock::now() < end) {
      std::optional<learner::Event> event = events_.PopFor(std::chrono::milliseconds(100));
      if (!event) continue;
      if (const auto* opened = std::get_if<learner::StreamOpened>(&*event)) {
        link_->SendCredit(opened->stream, kAhead);
      } else if (const auto* arrived = std::get_if<learner::BatchArrived>(&*event)) {
        const v1::BatchHeader& header = arrived->batch.header;
        bytes += header.payload_bytes();
        link_->SendAcknowledge(header.run_id(), header.sequence());
        link_->SendCredit(arrived->stream, 1);
      } else if (const auto* ended = std::get_if<learner::StreamEnded>(&*event)) {
        return absl::InternalError(base::StrCat("the stream ended: ", ended->status.ToString()));
      } else if (const auto* failed = std::get_if<learner::ClientFailed>(&*event)) {
        return failed->status;
      }
    }
    return bytes;
  }

 private:
  learner::RunBook book_;
  learner::EventQueue events_;
  std::unique_ptr<learner::ActorLink> link_;
};

absl::StatusOr<Transfer> ReadBatches(const std::string& address, const v1::TlsSettings& tls,
                                     const std::string& group, Seconds time,
                                     const std::function<void()>& on_start) {
  VIXEN_ASSIGN_OR_RETURN(const auto channel, learner::MakeChannel(address, tls));
  VIXEN_RETURN_IF_ERROR(PushWeights(channel));
  Consumer consumer(address, group, channel);
  VIXEN_RETURN_IF_ERROR(
      consumer.TakeUntil(Clock::now() + std::chrono::duration_cast<Clock::duration>(kWarmUp))
          .status());
  on_start();
  const Clock::time_point start = Clock::now();
  Transfer transfer;
  VIXEN_ASSIGN_OR_RETURN(
      transfer.bytes,
      consumer.TakeUntil(start + std::chrono::duration_cast<Clock::duration>(time)));
  transfer.seconds = Seconds(Clock::now() - start).count();
  return transfer;
}

absl::Status Measure(const SenderProcess& actors, const SenderProcess& naive, int round,
                     Seconds time, Candidate& candidate) {
  const SenderProcess& sender = candidate.actor ? actors : naive;
  double sender_before = 0;
  double own_before = 0;
  const auto on_start = [&] {
    sender_before = sender.CpuSeconds();
    own_before = OwnCpuSeconds();
  };
  absl::StatusOr<Transfer> transfer;
  if (candidate.actor) {
    transfer = ReadBatches(base::StrCat("127.0.0.1:", sender.actor_port(*candidate.actor)),
                           candidate.tls, base::StrCat("round-", round), time, on_start);
  } else {
    transfer = ReadNaive(sender.naive_port(), candidate.row.batch_bytes, kWarmUp, time, on_start);
  }
  VIXEN_RETURN_IF_ERROR(transfer.status());
  const double gigabytes = static_cast<double>(transfer->bytes) / kGiga;
  candidate.rates.push_back(gigabytes / transfer->seconds);
  candidate.sender_cpu.push_back((sender.CpuSeconds() - sender_before) / gigabytes);
  candidate.receiver_cpu.push_back((OwnCpuSeconds() - own_before) / gigabytes);
  return absl::OkStatus();
}

v1::TlsSettings TlsOf(const std::string& folder, const std::string& name) {
  v1::TlsSettings tls;
  tls.set_tls_ca(folder + "/ca.pem");
  tls.set_tls_certificate(base::StrCat(folder, "/", name, ".pem"));
  tls.set_tls_key(base::StrCat(folder, "/", name, ".key"));
  return tls;
}

}  // namespace

absl::StatusOr<std::vector<StreamBenchRow>> RunStreamBench(const StreamBenchOptions& options) {
  spdlog::set_level(spdlog::level::err);
  std::vector<SenderActor> actors;
  std::vector<Candidate> candidates;
  const auto add = [&](const StreamBenchRow& row, bool tls) {
    Candidate candidate{.row = row, .actor = actors.size()};
    SenderActor actor{row.shape.episodes, row.shape.steps, row.chunk_bytes, {}};
    if (tls) {
      actor.tls = TlsOf(options.certificates, "actor");
      candidate.tls = TlsOf(options.certificates, "learner");
    }
    actors.push_back(actor);
    candidates.push_back(std::move(candidate));
  };
  for (const StreamBenchOptions::Shape& shape : options.shapes) {
    StreamBenchRow row{.shape = shape};
    row.batch_bytes = kernels::Batch::PayloadBytes(size_t{shape.episodes} * shape.steps, false);
    for (const uint64_t chunk : options.chunk_bytes) {
      row.chunk_bytes = chunk;
      row.kind = "batch stream";
      add(row, false);
      if (options.certificates.empty()) continue;
      row.kind = "batch stream, mTLS";
      add(row, true);
    }
    row.chunk_bytes = 0;
    row.kind = "one message a batch";
    candidates.push_back({.row = row});
  }
  // What one writes first has the allocator's defaults; our programs do not.
  VIXEN_ASSIGN_OR_RETURN(const auto naive, SenderProcess::Start({}));
  base::KeepFreedMemory();
  VIXEN_ASSIGN_OR_RETURN(const auto sender, SenderProcess::Start(actors));
  for (int round = 0; round < options.rounds; ++round) {
    for (Candidate& candidate : candidates) {
      VIXEN_RETURN_IF_ERROR(Measure(*sender, *naive, round, Seconds(options.seconds), candidate));
    }
  }
  std::vector<StreamBenchRow> rows;
  for (Candidate& candidate : candidates) {
    StreamBenchRow& row = candidate.row;
    row.gigabytes_per_second = MedianOf(candidate.rates);
    row.slowest = *std::ranges::min_element(candidate.rates);
    row.fastest = *std::ranges::max_element(candidate.rates);
    row.sender_cpu_seconds_per_gigabyte = MedianOf(candidate.sender_cpu);
    row.receiver_cpu_seconds_per_gigabyte = MedianOf(candidate.receiver_cpu);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vixen::bench
