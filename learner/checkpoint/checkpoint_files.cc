// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/checkpoint_files.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/sha256_sums.h"
#include "base/status_macros.h"
#include "base/tensor_file.h"
#include "learner/weights/policy_file.h"
#include "proto/codec/checkpoint_head.h"
#include "proto/codec/convert.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

std::string In(const std::string& folder, const char* file) {
  return absl::StrCat(folder, "/", file);
}

void AddOptimizer(const OptimizerCut& cut, const std::string& name,
                  base::TensorFileWriter& writer) {
  kernels::WriteParameters(cut.first, absl::StrCat(name, ".first."), writer);
  kernels::WriteParameters(cut.second, absl::StrCat(name, ".second."), writer);
  writer.Tensor<float>(absl::StrCat(name, ".steps"), {1}, std::span(&cut.steps, 1));
}

absl::StatusOr<OptimizerCut> ReadOptimizer(const base::TensorFile& file, const std::string& name,
                                           const kernels::Architecture& architecture,
                                           WeightsKind kind) {
  OptimizerCut cut;
  VIXEN_ASSIGN_OR_RETURN(
      cut.first, kernels::ReadParameters(file, absl::StrCat(name, ".first."), architecture, kind));
  VIXEN_ASSIGN_OR_RETURN(cut.second, kernels::ReadParameters(file, absl::StrCat(name, ".second."),
                                                             architecture, kind));
  VIXEN_ASSIGN_OR_RETURN(const std::span<const float> steps,
                         file.Get<float>(absl::StrCat(name, ".steps"), {1}));
  cut.steps = steps[0];
  return cut;
}

absl::Status WriteWeights(const std::string& path, const LearnerCut& cut) {
  PolicyFile file;
  file.weights.online = cut.trainer.online;
  file.weights.target = cut.trainer.target;
  if (cut.curiosity.has_value()) file.weights.curiosity = cut.curiosity->weights;
  file.weights.online_version = cut.head.online_version();
  file.weights.target_version = cut.head.target_version();
  file.weights.curiosity_version = cut.head.curiosity_version();
  file.policy = cut.head.policy();
  file.updates = cut.head.updates();
  file.transitions = cut.head.transitions();
  file.scaler_fingerprint = cut.head.scaler_fingerprint();
  file.dataset_fingerprint = cut.head.dataset_fingerprint();
  file.settings = cut.head.configuration();
  return WritePolicyFile(path, file);
}

absl::Status WriteOptimizer(const std::string& path, const LearnerCut& cut) {
  base::TensorFileWriter writer;
  AddOptimizer(cut.trainer.optimizer, "network", writer);
  if (cut.curiosity.has_value()) AddOptimizer(cut.curiosity->optimizer, "curiosity", writer);
  return writer.Write(path);
}

absl::Status WriteReplay(const std::string& path, const LearnerCut& cut) {
  base::TensorFileWriter writer;
  cut.replay.rows.AddTo(writer);
  const size_t rows = cut.replay.rows.rows;
  writer.Tensor<double>("leaf", {static_cast<int64_t>(rows)},
                        std::span(cut.replay.leaves).first(rows));
  return writer.Write(path);
}

absl::Status WriteWindows(const std::string& path, const LearnerCut& cut) {
  base::TensorFileWriter writer;
  const auto rows = static_cast<int64_t>(cut.window_run.size());
  writer.Tensor<uint32_t>("run", {rows}, cut.window_run);
  writer.Tensor<uint32_t>("slot", {rows}, cut.window_slot);
  cut.window_rows.AddTo(writer);
  return writer.Write(path);
}

absl::Status ReadNetworks(const CheckpointTensors& files, LearnerCut& cut) {
  const base::TensorFile& weights = files.weights;
  const base::TensorFile& optimizer = files.optimizer;
  const kernels::Architecture architecture = codec::FromProto(cut.head.architecture());
  TrainerCut& trainer = cut.trainer;
  VIXEN_ASSIGN_OR_RETURN(trainer.online, kernels::ReadParameters(weights, "online.", architecture,
                                                                 WeightsKind::kOnline));
  VIXEN_ASSIGN_OR_RETURN(trainer.target, kernels::ReadParameters(weights, "target.", architecture,
                                                                 WeightsKind::kTarget));
  VIXEN_ASSIGN_OR_RETURN(trainer.optimizer,
                         ReadOptimizer(optimizer, "network", architecture, WeightsKind::kOnline));
  trainer.updates = cut.head.updates();
  if (optimizer.Find("curiosity.steps") == nullptr) return absl::OkStatus();
  CuriosityCut& curiosity = cut.curiosity.emplace();
  VIXEN_ASSIGN_OR_RETURN(
      curiosity.weights,
      kernels::ReadParameters(weights, "curiosity.", architecture, WeightsKind::kCuriosity));
  VIXEN_ASSIGN_OR_RETURN(curiosity.optimizer, ReadOptimizer(optimizer, "curiosity", architecture,
                                                            WeightsKind::kCuriosity));
  return absl::OkStatus();
}

absl::Status ReadRows(const CheckpointTensors& files, LearnerCut& cut) {
  const base::TensorFile& rows = files.replay;
  const base::TensorFile& windows = files.windows;
  const v1::CheckpointReplay& replay = cut.head.replay();
  VIXEN_ASSIGN_OR_RETURN(cut.replay.rows, RowColumns::Read(rows, replay.rows()));
  VIXEN_ASSIGN_OR_RETURN(const std::span<const double> leaves,
                         rows.Get<double>("leaf", {static_cast<int64_t>(replay.rows())}));
  cut.replay.leaves.assign(leaves.begin(), leaves.end());
  cut.replay.inserted = replay.inserted();
  cut.replay.sampler = replay.sampler();

  VIXEN_ASSIGN_OR_RETURN(const std::span<const uint32_t> run, windows.Get<uint32_t>("run", {-1}));
  VIXEN_ASSIGN_OR_RETURN(const std::span<const uint32_t> slot,
                         windows.Get<uint32_t>("slot", {static_cast<int64_t>(run.size())}));
  cut.window_run.assign(run.begin(), run.end());
  cut.window_slot.assign(slot.begin(), slot.end());
  VIXEN_ASSIGN_OR_RETURN(cut.window_rows, RowColumns::Read(windows, run.size()));
  return absl::OkStatus();
}

absl::Status ReadTensors(const CheckpointTensors& files, LearnerCut& cut) {
  VIXEN_RETURN_IF_ERROR(ReadNetworks(files, cut));
  return ReadRows(files, cut);
}

absl::Status OpenAndRead(const std::string& folder, LearnerCut& cut) {
  const auto open = [&](const char* file) {
    return base::TensorFile::Open(In(folder, file), false);
  };
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile weights, open(codec::kCheckpointWeights));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile optimizer, open(codec::kCheckpointOptimizer));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile replay, open(codec::kCheckpointReplay));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile windows, open(codec::kCheckpointWindows));
  return ReadTensors({weights, optimizer, replay, windows}, cut);
}

absl::StatusOr<LearnerCut> CutOr(const absl::Status& read, LearnerCut&& cut) {
  if (read.ok()) return std::move(cut);
  return absl::DataLossError(absl::StrCat("checkpoint is damaged: ", read.message()));
}

}  // namespace

absl::Status WriteCheckpointFiles(const std::string& folder, const LearnerCut& cut) {
  VIXEN_RETURN_IF_ERROR(WriteWeights(In(folder, codec::kCheckpointWeights), cut));
  VIXEN_RETURN_IF_ERROR(WriteOptimizer(In(folder, codec::kCheckpointOptimizer), cut));
  VIXEN_RETURN_IF_ERROR(WriteReplay(In(folder, codec::kCheckpointReplay), cut));
  VIXEN_RETURN_IF_ERROR(WriteWindows(In(folder, codec::kCheckpointWindows), cut));
  std::string state;
  google::protobuf::TextFormat::PrintToString(cut.head, &state);
  VIXEN_RETURN_IF_ERROR(base::WriteFileAtomically(In(folder, codec::kCheckpointState), state));
  return base::WriteSha256Sums(folder, codec::kCheckpointFiles);
}

absl::StatusOr<LearnerCut> AssembleCut(v1::Checkpoint head, const CheckpointTensors& files) {
  LearnerCut cut;
  cut.head = std::move(head);
  const absl::Status read = ReadTensors(files, cut);
  return CutOr(read, std::move(cut));
}

absl::StatusOr<LearnerCut> ReadCheckpointFiles(const std::string& folder) {
  VIXEN_RETURN_IF_ERROR(codec::VerifyCheckpoint(folder));
  LearnerCut cut;
  VIXEN_ASSIGN_OR_RETURN(cut.head, codec::ReadCheckpointHead(folder));
  const absl::Status read = OpenAndRead(folder, cut);
  return CutOr(read, std::move(cut));
}

}  // namespace vixen::learner
