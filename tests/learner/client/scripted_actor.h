// SPDX-License-Identifier: Apache-2.0
// An actor in this process that does what a test tells it.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/sha256.h"
#include "kernels/batch/batch.h"
#include "kernels/batch/columns.h"
#include "proto/codec/batch_encoder.h"
#include "proto/codec/column_layout.h"
#include "proto/codec/convert.h"
#include "proto/config/settings.h"
#include "vixen/v1/actor.grpc.pb.h"
#include "vixen/v1/weights.grpc.pb.h"

namespace vixen::learner {

class ScriptedActor final : public v1::Actor::Service, public v1::Weights::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::CollectResponse, v1::CollectRequest>;
  static constexpr uint32_t kEpisodes = 2, kSteps = 3;

  ScriptedActor() {
    architecture.features = 2;
    v1::EnvironmentSettings settings;
    settings.set_episodes(kEpisodes);
    settings.set_steps(kSteps);
    settings_bytes = config::SettingsBytes(settings);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::Actor::Service*>(this));
    builder.RegisterService(static_cast<v1::Weights::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~ScriptedActor() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Called between `open` and `opened`, when set.
  std::function<void()> on_open;
  // Called with the number of the stream, from 0, after `open` was read and `opened` written.
  std::function<grpc::Status(int number, Stream& stream)> on_collect;
  std::function<grpc::Status(const v1::WeightsHeader&, const std::string& image,
                             v1::PushWeightsResponse&)>
      on_push;
  std::function<grpc::Status(const v1::GetDatasetRequest&,
                             grpc::ServerWriter<v1::GetDatasetResponse>&)>
      on_dataset;

  kernels::Architecture architecture;
  std::string settings_bytes;
  v1::GetInfoResponse info;
  uint64_t run_id = 77;

  std::vector<v1::Open> opens() {
    std::lock_guard lock(mutex_);
    return opens_;
  }

  // One batch of valid rows whose reward is the sequence.
  void SendBatch(Stream& stream, uint64_t sequence) {
    kernels::Batch batch(kEpisodes, kSteps, false);
    kernels::BatchView view = batch.view();
    for (size_t i = 0; i < batch.rows(); ++i) {
      view.flags[i] = kernels::kFlagValid;
      view.reward[i] = static_cast<float>(sequence);
    }
    batch.statistics.valid_rows = batch.rows();
    const codec::ColumnLayout layout =
        *codec::ColumnLayout::Of(v1::Encoding(), architecture.state());
    const codec::EncodedBatch encoded = *codec::EncodeBatch(batch, layout, kernels::MarketView());
    v1::CollectResponse response;
    v1::BatchHeader& header = *response.mutable_header();
    header.set_run_id(run_id);
    header.set_sequence(sequence);
    header.set_launch(sequence);
    header.set_episodes(kEpisodes);
    header.set_steps(kSteps);
    header.set_precision(v1::PRECISION_FP32);
    header.set_payload_bytes(encoded.payload_bytes);
    header.set_delivery(1);
    const base::Sha256Digest sha256 = base::Sha256Of(settings_bytes);
    header.set_settings_sha256(std::string(sha256.begin(), sha256.end()));
    stream.Write(response);
    std::string payload;
    for (const std::span<const std::byte> piece : encoded.pieces) {
      payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    response.mutable_chunk()->set_data(payload);
    stream.Write(response);
    response.mutable_trailer()->set_crc32c(encoded.Crc32c());
    *response.mutable_trailer()->mutable_statistics() = codec::ToProto(batch.statistics);
    stream.Write(response);
  }

 private:
  grpc::Status GetInfo(grpc::ServerContext*, const v1::GetInfoRequest*,
                       v1::GetInfoResponse* response) override {
    *response = info;
    response->set_run_id(run_id);
    return grpc::Status::OK;
  }
  grpc::Status Collect(grpc::ServerContext*, Stream* stream) override {
    v1::CollectRequest request;
    if (!stream->Read(&request)) return {grpc::StatusCode::INVALID_ARGUMENT, "no open"};
    int number = 0;
    {
      std::lock_guard lock(mutex_);
      number = static_cast<int>(opens_.size());
      opens_.push_back(request.open());
    }
    if (on_open) on_open();
    v1::CollectResponse response;
    v1::Opened& opened = *response.mutable_opened();
    opened.set_run_id(run_id);
    opened.set_episodes(kEpisodes);
    opened.set_steps(kSteps);
    *opened.mutable_architecture() = codec::ToProto(architecture);
    *opened.mutable_columns() =
        codec::ColumnLayout::Of(v1::Encoding(), architecture.state())->ToProto();
    opened.set_settings(settings_bytes);
    opened.set_max_credit(4);
    stream->Write(response);
    return on_collect(number, *stream);
  }
  grpc::Status PushWeights(grpc::ServerContext*, grpc::ServerReader<v1::PushWeightsRequest>* reader,
                           v1::PushWeightsResponse* response) override {
    v1::PushWeightsRequest request;
    v1::WeightsHeader header;
    std::string image;
    while (reader->Read(&request)) {
      if (request.has_header()) header = request.header();
      image += request.chunk();
    }
    return on_push(header, image, *response);
  }
  grpc::Status GetDataset(grpc::ServerContext*, const v1::GetDatasetRequest* request,
                          grpc::ServerWriter<v1::GetDatasetResponse>* writer) override {
    return on_dataset(*request, *writer);
  }

  int port_ = 0;
  std::mutex mutex_;
  std::vector<v1::Open> opens_;
  std::unique_ptr<grpc::Server> server_;
};

// The next event of type T; others before it are thrown away. Fails after a minute.
template <typename T, typename Queue>
std::optional<T> NextEvent(Queue& events) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    auto event = events.PopFor(deadline - std::chrono::steady_clock::now());
    if (event.has_value() && std::holds_alternative<T>(*event))
      return std::get<T>(std::move(*event));
  }
  return std::nullopt;
}

}  // namespace vixen::learner
