// SPDX-License-Identifier: Apache-2.0
// A hostile pusher. First byte: whether the header of the whole upload gets the right size,
// SHA-256, version and scaler fingerprint, which no mutation would find. What is accepted must be
// live then, what is refused must have changed nothing.
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/tensor_file.h"
#include "kernels/nn/network.h"
#include "proto/codec/convert.h"
#include "server/collector/policy.h"
#include "server/metrics/actor_metrics.h"
#include "server/weights/weights_intake.h"
#include "tests/fuzz/messages.h"
#include "tests/server/fake_collector.h"
#include "vixen/v1/weights.pb.h"

namespace {

using namespace vixen;

void Check(bool holds) {
  if (!holds) std::abort();
}

// One actor's weights, kept over all inputs.
struct Actor {
  static server::Run MakeRun(server::FakeControl& control) {
    server::Run run;
    run.run_id = 5;
    run.collector.architecture = {.features = 1,
                                  .hidden1 = 16,
                                  .hidden2 = 16,
                                  .value_hidden = 16,
                                  .advantage_hidden = 16,
                                  .curiosity_hidden = 16};
    run.collector.episodes = 1;
    run.collector.steps = 1;
    run.make_collector = server::MakeFakes(control);
    run.limits.set_max_policies(2);
    run.limits.set_max_streams(1);
    run.limits.set_max_weights_bytes(1 << 16);
    return run;
  }

  server::FakeControl control;
  server::Run run = MakeRun(control);
  server::ActorMetrics metrics;
  server::Policies policies{run, metrics, [] {}};
  server::WeightsIntake intake{run, policies, metrics};
};

uint64_t LiveVersion(const Actor& actor, const std::string& policy, kernels::WeightsKind kind) {
  const auto found = actor.policies.Find(policy);
  return found ? found->weights.LiveVersion(kind) : 0;
}

// What an honest pusher of these bytes would say of them.
void MakeHonest(const Actor& actor, const std::string& image, uint64_t live,
                v1::WeightsHeader& header) {
  header.set_size(image.size());
  header.set_version(live + 1);
  *header.mutable_architecture() = codec::ToProto(actor.run.collector.architecture);
  header.set_scaler_fingerprint(std::string(32, '\0'));
  const auto kind = codec::FromProto(header.kind());
  const auto file = base::TensorFile::Parse(std::as_bytes(std::span<const char>(image)), "image");
  if (!kind.ok() || !file.ok()) return;
  const auto parameters =
      kernels::ReadParameters(*file, "", actor.run.collector.architecture, *kind);
  if (!parameters.ok()) return;
  const base::Sha256Digest sha256 = kernels::ParametersSha256(*parameters);
  header.set_sha256(std::string(sha256.begin(), sha256.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto& actor = *new Actor();
  if (size < 1) return 0;
  const bool honest = (data[0] & 1) != 0;
  vixen::fuzz::Messages messages({data + 1, size - 1});
  std::vector<v1::PushWeightsRequest> requests;
  std::string image;
  v1::WeightsHeader* header = nullptr;
  while (const std::optional<std::string> bytes = messages.Next()) {
    v1::PushWeightsRequest request;
    if (!request.ParseFromString(*bytes)) return 0;
    image += request.chunk();
    requests.push_back(std::move(request));
  }
  for (v1::PushWeightsRequest& request : requests) {
    if (header == nullptr && request.has_header()) header = request.mutable_header();
  }
  const std::string policy = header == nullptr ? "" : header->policy();
  const auto kind = header == nullptr
                        ? kernels::WeightsKind::kOnline
                        : codec::FromProto(header->kind()).value_or(kernels::WeightsKind::kOnline);
  const uint64_t before = LiveVersion(actor, policy, kind);
  if (honest && header != nullptr) MakeHonest(actor, image, before, *header);

  server::WeightsUpload upload(actor.intake);
  for (const v1::PushWeightsRequest& request : requests) {
    if (!upload.Add(request).ok()) return 0;
  }
  if (!upload.CheckComplete().ok()) return 0;
  const auto applied = upload.Apply();
  const uint64_t after = LiveVersion(actor, policy, kind);
  if (!applied.ok()) {
    actor.intake.CountRefusal(applied.status());
    Check(after == before);
  } else {
    Check(after >= before);
    Check(header->size() == 0 || after == header->version());
  }
  return 0;
}
