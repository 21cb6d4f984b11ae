// SPDX-License-Identifier: Apache-2.0
// What an executor holds, from its start on.
#include "kernels/collect/cuda_executor.h"

#include <algorithm>

#include "base/status_macros.h"
#include "kernels/collect/cuda_mma_tiled.h"
#include "kernels/collect/cuda_resident.h"
#include "kernels/collect/cuda_single.h"
#include "kernels/collect/cuda_tiled.h"

namespace vixen::kernels {

CudaExecutor::CudaExecutor(const CollectorOptions& options)
    : options_(options), rules_(MakeRules(options.settings, options.steps)) {}

CudaExecutor::~CudaExecutor() { cudaSetDevice(device_.index); }

absl::StatusOr<std::unique_ptr<CudaExecutor>> CudaExecutor::Create(const CollectorOptions& options,
                                                                   int device,
                                                                   CudaAlgorithm algorithm,
                                                                   DeviceDatasets* datasets) {
  VIXEN_RETURN_IF_ERROR(CheckOptions(options));
  DeviceDatasets alone;
  std::unique_ptr<CudaExecutor> executor(new CudaExecutor(options));
  VIXEN_RETURN_IF_ERROR(
      executor->Start(device, algorithm, datasets == nullptr ? alone : *datasets));
  return executor;
}

absl::Status CudaExecutor::SelectDevice() const {
  VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(device_.index));
  return absl::OkStatus();
}

absl::Status CudaExecutor::Start(int device, CudaAlgorithm algorithm, DeviceDatasets& datasets) {
  VIXEN_ASSIGN_OR_RETURN(device_, QueryCudaDevice(device));
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  limits_.capability = device_.capability();
  limits_.tiles = TiledRuns(limits_.capability);
  limits_.mma_tiles = MmaTiledRuns(limits_.capability);
  resident_blocks_ = ResidentBlocks(limits_.capability, OperandOf(options_.precision));
  limits_.resident_episodes = ResidentEpisodes(resident_blocks_);
  limits_.single_episodes =
      SingleEpisodes(limits_.capability, OperandOf(options_.precision), device_.multiprocessors);
  VIXEN_ASSIGN_OR_RETURN(started_, ChooseAlgorithm(options_, algorithm, limits_));
  Announce(ChooseLaunch(started_, options_.precision, {}));
  info_.executor = "cuda";
  info_.device = device_.Describe();
  size_t free_bytes = 0;
  size_t all_bytes = 0;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemGetInfo(&free_bytes, &all_bytes));
  const bool packed = NeedsPackedRows(started_.algorithm, options_.precision);
  plan_ = PlanMemory(options_, started_.algorithm,
                     datasets.Find(options_.market, packed) != nullptr, free_bytes);
  VIXEN_RETURN_IF_ERROR(plan_.CheckFits(options_, device));

  VIXEN_RETURN_IF_ERROR(CreateStream(stage_stream_));
  VIXEN_ASSIGN_OR_RETURN(dataset_,
                         datasets.FindOrUpload(options_.market, packed, stage_stream_.get()));
  size_t largest = 0;
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    Weights& weights = of(kind);
    weights.layout =
        LayOutWeights(options_.architecture, kind, options_.precision, FormOf(started_.algorithm));
    largest = std::max(largest, weights.layout.bytes);
    VIXEN_RETURN_IF_ERROR(weights.staged.Allocate(weights.layout.bytes));
    VIXEN_RETURN_IF_ERROR(weights.live.Allocate(weights.layout.bytes));
    VIXEN_CUDA_RETURN_IF_ERROR(
        cudaMemsetAsync(weights.live.data(), 0, weights.layout.bytes, stage_stream_.get()));
    VIXEN_RETURN_IF_ERROR(CreateEvent(weights.copied));
  }
  VIXEN_RETURN_IF_ERROR(stage_out_.Allocate(largest));
  VIXEN_RETURN_IF_ERROR(stage_back_.Allocate(largest));
  VIXEN_RETURN_IF_ERROR(probe_.Allocate(512));

  const size_t rows = size_t{options_.episodes} * options_.steps;
  VIXEN_RETURN_IF_ERROR(arguments_.Allocate(1));
  VIXEN_RETURN_IF_ERROR(slots_.Allocate(options_.episodes));
  VIXEN_RETURN_IF_ERROR(scratch_.Allocate(rows));
  VIXEN_RETURN_IF_ERROR(curiosity_.Allocate(rows));
  VIXEN_RETURN_IF_ERROR(statistics_workspace_.Allocate(StatisticsWorkspaceBytes()));
  if (started_.algorithm == CudaAlgorithm::kStepped) {
    VIXEN_RETURN_IF_ERROR(SteppedOf(info_.precision).status());
  }
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stage_stream_.get()));
  info_.workspace_bytes = plan_.total();
  info_.memory_plan = plan_.Describe();
  info_.pci_bus_id = device_.pci_bus_id;
  return absl::OkStatus();
}

void CudaExecutor::Announce(const LaunchChoice& choice) {
  info_.algorithm = std::string(CudaAlgorithmName(choice.algorithm));
  info_.precision = choice.precision;
  info_.reason = choice.reason;
}

absl::Status CudaExecutor::Allocate(DeviceBatch& batch, bool with_q) const {
  const size_t rows = size_t{options_.episodes} * options_.steps;
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  if (batch.columns.empty()) {
    VIXEN_RETURN_IF_ERROR(batch.columns.Allocate(Batch::PayloadBytes(rows, true)));
    VIXEN_RETURN_IF_ERROR(batch.statistics.Allocate(1));
    VIXEN_RETURN_IF_ERROR(batch.bad_row.Allocate(2));
    VIXEN_RETURN_IF_ERROR(batch.start_slots.Allocate(options_.episodes));
  }
  if (with_q && batch.q.empty()) VIXEN_RETURN_IF_ERROR(batch.q.Allocate(rows * kActions));
  return absl::OkStatus();
}

absl::Status CudaExecutor::Allocate(LaunchStaging& staging) const {
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  VIXEN_RETURN_IF_ERROR(staging.arguments.Allocate(1));
  VIXEN_RETURN_IF_ERROR(staging.slots.Allocate(options_.episodes));
  VIXEN_RETURN_IF_ERROR(staging.rng.Allocate(options_.episodes));
  return staging.starts.Allocate(options_.episodes);
}

}  // namespace vixen::kernels
