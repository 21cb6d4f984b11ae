// SPDX-License-Identifier: Apache-2.0
// vixen collect and vixen inspect against an actor's interface on loopback, played by this test.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/sha256.h"
#include "kernels/collect/collector.h"
#include "proto/codec/batch_encoder.h"
#include "proto/codec/convert.h"
#include "proto/config/settings.h"
#include "tests/tool/hand_made.h"
#include "tool/collect/sources.h"
#include "tool/inspect/describe.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::tool {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kRunId = 0xABCDEF0123456789;
constexpr uint32_t kEpisodes = 4;
constexpr uint32_t kSteps = 8;
constexpr uint64_t kChunk = 500;

template <typename Bytes>
std::string Text(const Bytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Sends a batch for each credit, keeps what the client said.
class PlayedActor final : public v1::Actor::Service {
  using Stream = grpc::ServerReaderWriter<v1::CollectResponse, v1::CollectRequest>;

 public:
  PlayedActor() {
    v1::EnvironmentSettings settings;
    settings.set_episodes(kEpisodes);
    settings.set_steps(kSteps);
    settings.set_carry_over(true);
    settings_ = config::SettingsBytes(settings);
    dataset_ = DailyDataset({{100, 101, 102, 103, 104, 105, 104, 103, 102, 101, 100, 99}});
    const kernels::PolicyWeights weights = ConstantPolicy(1, 37);
    kernels::CollectorOptions options{.settings = config::ToEnvSettings(settings),
                                      .architecture = weights.online.architecture,
                                      .episodes = kEpisodes,
                                      .steps = kSteps,
                                      .threads = 1};
    options.market = {.features = dataset_->features().data(),
                      .targets = dataset_->targets().data(),
                      .last = dataset_->last().data(),
                      .bars = static_cast<uint32_t>(dataset_->bars()),
                      .feature_count = 1,
                      .end = static_cast<uint32_t>(dataset_->bars())};
    market_ = options.market;
    architecture_ = options.architecture;
    collector_ = kernels::MakeCpuCollector(options).value();
    for (const kernels::Parameters* parameters :
         {&weights.online, &weights.target, &weights.curiosity}) {
      EXPECT_TRUE(collector_->StageWeights(*parameters).ok());
      collector_->CommitWeights(parameters->kind);
    }
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~PlayedActor() override { server_->Shutdown(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status GetInfo(grpc::ServerContext*, const v1::GetInfoRequest*,
                       v1::GetInfoResponse* info) override {
    info->set_version("9.9.9");
    info->set_run_id(kRunId);
    info->set_settings(settings_);
    info->mutable_dataset()->set_source("made by hand");
    *info->mutable_architecture() = codec::ToProto(architecture_);
    info->add_policies()->set_policy("default");
    return grpc::Status::OK;
  }

  grpc::Status GetBalance(grpc::ServerContext*, const v1::GetBalanceRequest*,
                          v1::GetBalanceResponse* balance) override {
    v1::BalanceSheet& sheet = *balance->add_sheets();
    sheet.set_policy("default");
    sheet.set_group("learner");
    sheet.mutable_offered()->set_batches(12);
    sheet.mutable_acknowledged()->set_batches(11);
    (*sheet.mutable_dropped())["retain"].set_batches(1);
    return grpc::Status::OK;
  }

  grpc::Status Collect(grpc::ServerContext*, Stream* stream) override {
    v1::CollectRequest request;
    if (!stream->Read(&request) || !request.has_open()) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "open first");
    }
    open = request.open();
    if (refuse) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams");
    const codec::ColumnLayout layout =
        codec::ColumnLayout::Of(open.encoding(), architecture_.state()).value();
    v1::CollectResponse response;
    v1::Opened& opened = *response.mutable_opened();
    opened.set_run_id(kRunId);
    opened.set_episodes(kEpisodes);
    opened.set_steps(kSteps);
    *opened.mutable_architecture() = codec::ToProto(architecture_);
    *opened.mutable_columns() = layout.ToProto();
    opened.set_dataset_fingerprint(Text(dataset_->fingerprint()));
    opened.set_scaler_fingerprint(Text(dataset_->scaler_fingerprint()));
    opened.set_settings(settings_);
    opened.set_chunk_bytes(kChunk);
    opened.set_max_credit(64);
    stream->Write(response);
    while (stream->Read(&request)) {
      if (request.has_ack()) acknowledged.push_back(request.ack().sequence());
      if (!request.has_credit()) continue;
      credit += request.credit().n();
      for (int64_t i = 0; i < request.credit().n() && sent < end_after; ++i) {
        SendBatch(layout, *stream);
      }
      if (sent >= end_after) return grpc::Status::OK;
    }
    return grpc::Status::OK;
  }

  v1::Open open;
  std::vector<uint64_t> acknowledged;
  int64_t credit = 0;
  uint64_t sent = 0;
  uint64_t end_after = 1'000'000;
  bool refuse = false;
  bool spoil = false;

 private:
  void SendBatch(const codec::ColumnLayout& layout, Stream& stream) {
    kernels::Batch batch(kEpisodes, kSteps, true);
    EXPECT_TRUE(collector_->Launch({.seed = 1, .launch = sent, .epsilon = 0.5f}, batch).ok());
    EXPECT_TRUE(collector_->Wait(batch).ok());
    const codec::EncodedBatch encoded = codec::EncodeBatch(batch, layout, market_).value();
    v1::CollectResponse response;
    v1::BatchHeader& header = *response.mutable_header();
    header.set_run_id(kRunId);
    header.set_policy("default");
    header.set_launch(sent);
    header.set_sequence(sent);
    header.set_episodes(kEpisodes);
    header.set_steps(kSteps);
    header.set_online_version(1);
    header.set_target_version(1);
    header.set_curiosity_version(1);
    header.set_epsilon(0.5f);
    header.set_settings_sha256(Text(base::Sha256Of(settings_)));
    header.set_precision(v1::PRECISION_FP32);
    header.set_payload_bytes(encoded.payload_bytes);
    header.set_delivery(1);
    stream.Write(response);
    for (uint64_t at = 0; at < encoded.payload_bytes; at += kChunk) {
      const uint64_t size = std::min(kChunk, encoded.payload_bytes - at);
      response.mutable_chunk()->set_offset(at);
      std::string data;
      for (const auto& piece : encoded.Range(at, size)) data += Text(piece);
      response.mutable_chunk()->set_data(data);
      stream.Write(response);
    }
    response.mutable_trailer()->set_crc32c(encoded.Crc32c() ^ (spoil ? 1u : 0u));
    *response.mutable_trailer()->mutable_statistics() = codec::ToProto(batch.statistics);
    stream.Write(response);
    ++sent;
  }

  std::string settings_;
  std::shared_ptr<const market::Dataset> dataset_;
  kernels::MarketView market_;
  kernels::Architecture architecture_;
  std::unique_ptr<kernels::Collector> collector_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(ActorSource, TakesExactlyTheBatchesAskedForAndAcknowledgesEach) {
  PlayedActor actor;
  std::vector<uint64_t> sequences;
  const absl::Status status =
      CollectFromActor({.address = actor.address()}, 5, [&](const codec::RecordedBatch& recorded) {
        sequences.push_back(recorded.header.sequence());
        EXPECT_EQ(recorded.batch.rows(), kEpisodes * kSteps);
        EXPECT_EQ(recorded.batch.start_states.size(), kEpisodes);
        EXPECT_EQ(recorded.batch.statistics.valid_rows, kEpisodes * kSteps);
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(sequences, ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(actor.acknowledged, ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(actor.credit, 5);
  EXPECT_EQ(actor.sent, 5u);
  EXPECT_THAT(actor.open.group(), ::testing::StartsWith("collect-"));
}

TEST(ActorSource, PassesTheActorsRefusalOn) {
  PlayedActor actor;
  actor.refuse = true;
  const absl::Status status =
      CollectFromActor({.address = actor.address()}, 1,
                       [](const codec::RecordedBatch&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("too many streams"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(actor.address()));
}

TEST(ActorSource, RefusesAPayloadThatArrivedChanged) {
  PlayedActor actor;
  actor.spoil = true;
  uint64_t taken = 0;
  const absl::Status status =
      CollectFromActor({.address = actor.address()}, 1, [&](const codec::RecordedBatch&) {
        ++taken;
        return absl::OkStatus();
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(taken, 0u);
  EXPECT_TRUE(actor.acknowledged.empty());
}

TEST(ActorSource, SaysWhenTheStreamEndsEarly) {
  PlayedActor actor;
  actor.end_after = 2;
  const absl::Status status =
      CollectFromActor({.address = actor.address()}, 5,
                       [](const codec::RecordedBatch&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("after 2 of 5"));
}

TEST(ActorSource, ASinkThatFailsEndsTheCollection) {
  PlayedActor actor;
  const absl::Status status = CollectFromActor(
      {.address = actor.address()}, 5,
      [](const codec::RecordedBatch&) { return absl::ResourceExhaustedError("disk full"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(DescribeActor, ShowsInfoAndBalanceSheets) {
  PlayedActor actor;
  const absl::StatusOr<Json> json = DescribeActor(actor.address(), v1::TlsSettings());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["version"], "9.9.9");
  EXPECT_EQ((*json)["run_id"], "abcdef0123456789");
  EXPECT_EQ((*json)["balance_batches"][0]["offered"], 12);
  EXPECT_EQ((*json)["balance_batches"][0]["dropped"], 1);
  const std::string text = InspectionText(*json);
  EXPECT_THAT(text, HasSubstr("made by hand"));
  EXPECT_THAT(text, HasSubstr("acknowledged"));
  EXPECT_THAT(text, HasSubstr("retain"));
}

}  // namespace
}  // namespace vixen::tool
