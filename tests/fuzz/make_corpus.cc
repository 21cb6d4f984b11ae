// SPDX-License-Identifier: Apache-2.0
// make_corpus FOLDER: writes the seeds of the targets that read messages (corpus/batch_decoder,
// corpus/checkpoint, corpus/weights, corpus/collect_request), made by the code that makes real
// messages.
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "learner/replay/row_columns.h"
#include "proto/codec/convert.h"
#include "tests/fuzz/checkpoint_input.h"
#include "tests/fuzz/messages.h"
#include "tests/proto/codec/example_batch.h"
#include "tests/server/test_weights.h"
#include "vixen/v1/actor.pb.h"
#include "vixen/v1/checkpoint.pb.h"

namespace vixen {
namespace {

bool Write(const std::string& folder, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(folder);
  return base::WriteFileAtomically(folder + "/" + name, bytes).ok();
}

// One whole batch in the encoding of `bits`, with the right CRC put in by the target (32).
std::string Batch(int bits, uint64_t chunk_bytes) {
  const codec::Example example;
  const v1::Encoding encoding = codec::EncodingOf((bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                                  (bits & 8) != 0, (bits & 16) != 0);
  std::string input = {static_cast<char>(bits | 32), 9};
  v1::CollectResponse opened;
  *opened.mutable_opened() = codec::Example::Opened(encoding);
  fuzz::AppendMessage(opened.SerializeAsString(), input);
  for (const v1::CollectResponse& message : example.Messages(encoding, chunk_bytes)) {
    fuzz::AppendMessage(message.SerializeAsString(), input);
  }
  return input;
}

std::string Push(v1::WeightsKind kind) {
  kernels::Architecture architecture;
  architecture.features = 1;
  architecture.hidden1 = architecture.hidden2 = 16;
  architecture.value_hidden = architecture.advantage_hidden = architecture.curiosity_hidden = 16;
  const server::TestWeights weights = server::MakeTestWeights(
      server::ConstantParameters(architecture, *codec::FromProto(kind), 0.25f), 1,
      std::string(32, '\0'));
  std::string input(1, '\1');
  for (const v1::PushWeightsRequest& request : server::RequestsOf(weights, 9000)) {
    fuzz::AppendMessage(request.SerializeAsString(), input);
  }
  return input;
}

std::string Consumers() {
  std::string input;
  v1::CollectRequest request;
  for (const char* consumer : {"a", "b"}) {
    v1::Open& open = *request.mutable_open();
    open.set_policy("p");
    open.set_group("g");
    open.set_consumer(consumer);
    fuzz::AppendMessage(request.SerializeAsString(), input);
  }
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    request.mutable_credit()->set_n(1);
    fuzz::AppendMessage(request.SerializeAsString(), input);
    request.mutable_ack()->set_run_id(7);
    request.mutable_ack()->set_sequence(sequence);
    fuzz::AppendMessage(request.SerializeAsString(), input);
  }
  v1::RunRanges& ranges = *request.mutable_durable()->mutable_ranges();
  ranges.set_run_id(7);
  ranges.add_ranges()->set_last(1);
  fuzz::AppendMessage(request.SerializeAsString(), input);
  return input;
}

learner::ReplayRow Row(uint32_t bar) {
  return {.bar = bar,
          .bootstrap_bar = bar + 1,
          .reward = 0.5f,
          .discount = 0.99f,
          .td = 0.25f,
          .action = 3,
          .flags = 1};
}

// A learner's checkpoint after 5 inserts into a replay of 4, with an open window; `bits` as the
// target reads them.
std::string Checkpoint(int bits) {
  v1::Checkpoint head;
  head.set_format(1);
  *head.mutable_architecture() = codec::ToProto(fuzz::HonestNetworks::Architecture());
  head.mutable_replay()->set_capacity(4);
  head.mutable_replay()->set_rows(4);
  head.mutable_replay()->set_inserted(5);
  v1::CheckpointRun& run = *head.add_runs();
  run.mutable_sheet()->set_run_id(7);
  run.add_sequences()->set_last(2);
  v1::SequenceRange& range = *run.add_sequences();
  range.set_first(4);
  range.set_last(4);
  run.set_slots(1);

  learner::RowColumns rows;
  rows.Assign(std::vector{Row(4), Row(1), Row(2), Row(3)});
  const std::vector<double> leaves = {0.5, 0.25, 0.0, 1.0};
  base::TensorFileWriter replay;
  rows.AddTo(replay);
  replay.Tensor<double>("leaf", {4}, leaves);
  learner::RowColumns open;
  open.Assign(std::vector{Row(5)});
  const uint32_t first = 0;
  base::TensorFileWriter windows;
  windows.Tensor<uint32_t>("run", {1}, std::span(&first, 1));
  windows.Tensor<uint32_t>("slot", {1}, std::span(&first, 1));
  open.AddTo(windows);

  std::string input(1, static_cast<char>(bits));
  fuzz::AppendMessage((bits & 2) != 0 ? head.DebugString() : head.SerializeAsString(), input);
  fuzz::AppendMessage(replay.Serialize().value(), input);
  fuzz::AppendMessage(windows.Serialize().value(), input);
  return input;
}

bool WriteAll(const std::string& folder) {
  bool written = true;
  for (const int bits : {0, 1, 2, 6, 8, 15, 16, 31}) {
    written = Write(folder + "/batch_decoder", "encoding_" + std::to_string(bits),
                    Batch(bits, bits == 0 ? 100 : 4096)) &&
              written;
  }
  written = Write(folder + "/checkpoint", "rows", Checkpoint(1)) && written;
  written = Write(folder + "/checkpoint", "rows_text", Checkpoint(3)) && written;
  written = Write(folder + "/checkpoint", "rows_architecture", Checkpoint(5)) && written;
  written = Write(folder + "/weights", "online", Push(v1::WEIGHTS_KIND_ONLINE)) && written;
  written = Write(folder + "/weights", "curiosity", Push(v1::WEIGHTS_KIND_CURIOSITY)) && written;
  return Write(folder + "/collect_request", "two_consumers", Consumers()) && written;
}

}  // namespace
}  // namespace vixen

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  return vixen::WriteAll(argv[1]) ? 0 : 1;
}
