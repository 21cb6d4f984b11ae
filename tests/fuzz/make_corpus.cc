// SPDX-License-Identifier: Apache-2.0
// make_corpus FOLDER: writes the seeds of the targets that read messages (corpus/batch_decoder,
// corpus/weights, corpus/collect_request), made by the code that makes real messages.
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "tests/fuzz/messages.h"
#include "tests/proto/codec/example_batch.h"
#include "tests/server/test_weights.h"
#include "vixen/v1/actor.pb.h"

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

bool WriteAll(const std::string& folder) {
  bool written = true;
  for (const int bits : {0, 1, 2, 6, 8, 15, 16, 31}) {
    written = Write(folder + "/batch_decoder", "encoding_" + std::to_string(bits),
                    Batch(bits, bits == 0 ? 100 : 4096)) &&
              written;
  }
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
