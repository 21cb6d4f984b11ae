// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/cuda_mma_tiled.h"
#include "kernels/collect/cuda_resident.h"
#include "kernels/collect/cuda_single.h"
#include "kernels/collect/cuda_stepped_kernels.h"
#include "kernels/collect/cuda_tile_image.h"
#include "kernels/collect/cuda_tiled.h"
#include "kernels/collect/launch_start.h"

namespace vixen::kernels {
namespace {

absl::Status CheckParameters(const Parameters& parameters, const Architecture& architecture) {
  const std::string_view kind = WeightsKindName(parameters.kind);
  if (parameters.architecture != architecture) {
    return absl::InvalidArgumentError(base::StrCat(kind, " weights are ",
                                                   parameters.architecture.Describe(),
                                                   ", the executor is ", architecture.Describe()));
  }
  const size_t expected = ParameterCount(architecture, parameters.kind);
  if (parameters.values.size() != expected) {
    return absl::InvalidArgumentError(base::StrCat(kind, " weights have ", parameters.values.size(),
                                                   " values, expected ", expected));
  }
  const auto bad = std::find_if(parameters.values.begin(), parameters.values.end(),
                                [](float value) { return !std::isfinite(value); });
  if (bad == parameters.values.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(kind, " weights: value ", bad - parameters.values.begin(),
                   " of the flat parameters = ", *bad, " is not finite"));
}

absl::Status CheckFp16Range(const Parameters& parameters) {
  for (size_t i = 0; i < parameters.values.size(); ++i) {
    if (std::fabs(parameters.values[i]) <= kLargestHalf) continue;
    return absl::InvalidArgumentError(base::StrCat(
        WeightsKindName(parameters.kind), " weights: value ", i, " of the flat parameters = ",
        parameters.values[i], " is beyond fp16's ±65,504; choose precision tf32, fp32 or auto"));
  }
  return absl::OkStatus();
}

ProbeNetwork ProbeOf(const Architecture& architecture, WeightsKind kind) {
  ProbeNetwork network;
  network.curiosity = kind == WeightsKind::kCuriosity ? 1 : 0;
  const std::vector<LayerLayout> layers = LayersOf(architecture, kind);
  for (size_t i = 0; i < layers.size(); ++i) {
    network.layers[i] = {layers[i].inputs, layers[i].outputs, layers[i].weight_offset,
                         layers[i].bias_offset};
  }
  return network;
}

}  // namespace

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

LivePolicy CudaExecutor::live() const {
  return {of(WeightsKind::kOnline).address(), of(WeightsKind::kTarget).address(),
          of(WeightsKind::kCuriosity).address()};
}

TilePolicy CudaExecutor::TilesOf(Precision precision) const {
  TilePolicy tiles;
  tiles.operand = OperandOf(precision);
  tiles.state_scale = StateScale(tiles.operand, dataset_->states());
  const auto network = [&](WeightsKind kind) {
    const Weights& weights = of(kind);
    const std::byte* image =
        weights.live.data() + weights.layout.tile[static_cast<size_t>(tiles.operand)];
    return TileNetwork{image, image + TileImageTiles(kind, tiles.operand)};
  };
  tiles.online = network(WeightsKind::kOnline);
  tiles.target = network(WeightsKind::kTarget);
  if (needs_curiosity()) tiles.curiosity = network(WeightsKind::kCuriosity);
  return tiles;
}

absl::StatusOr<SteppedAlgorithm*> CudaExecutor::SteppedOf(Precision precision) {
  std::unique_ptr<SteppedAlgorithm>& stepped = stepped_[static_cast<size_t>(precision)];
  if (stepped == nullptr) {
    auto prepared = std::make_unique<SteppedAlgorithm>();
    VIXEN_RETURN_IF_ERROR(prepared->Prepare(options_, precision, live(), arguments_.data(),
                                            dataset_->market(), stage_stream_.get()));
    stepped = std::move(prepared);
  }
  return stepped.get();
}

void CudaExecutor::Announce(const LaunchChoice& choice) {
  info_.algorithm = std::string(CudaAlgorithmName(choice.algorithm));
  info_.precision = choice.precision;
  info_.reason = choice.reason;
}

absl::StatusOr<WeightsProbe> CudaExecutor::Stage(const Parameters& parameters) {
  VIXEN_RETURN_IF_ERROR(CheckParameters(parameters, options_.architecture));
  if (options_.precision == Precision::kFp16) VIXEN_RETURN_IF_ERROR(CheckFp16Range(parameters));
  const std::lock_guard lock(stage_mutex_);
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  Weights& weights = of(parameters.kind);
  cudaStream_t stream = stage_stream_.get();
  const size_t bytes = weights.layout.bytes;
  const NetworkRange range = RangeOfNetwork(parameters, dataset_->states());
  const std::vector<std::byte> image =
      BuildWeightsImage(weights.layout, parameters, dataset_->states());
  std::memcpy(stage_out_.data(), image.data(), bytes);
  weights.is_staged = false;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream, weights.copied.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(weights.staged.data(), stage_out_.data(), bytes,
                                             cudaMemcpyHostToDevice, stream));
  const std::vector<float> state = ProbeState(options_.architecture.state());
  const size_t answers =
      parameters.kind == WeightsKind::kCuriosity ? options_.architecture.embedding() : kActions;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(
      probe_.data(), state.data(), state.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  const float* staged =
      reinterpret_cast<const float*>(weights.staged.data() + weights.layout.parameters);
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueProbe(staged, ProbeOf(options_.architecture, parameters.kind),
                                          probe_.data(), probe_.data() + 256, stream));
  WeightsProbe probe;
  probe.precision = Precision::kFp32;
  probe.values.resize(answers);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(probe.values.data(), probe_.data() + 256,
                                             answers * sizeof(float), cudaMemcpyDeviceToHost,
                                             stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(stage_back_.data(), weights.staged.data(), bytes,
                                             cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  if (std::memcmp(stage_back_.data(), image.data(), bytes) != 0) {
    return absl::InternalError(base::StrCat(WeightsKindName(parameters.kind),
                                            " weights read back from the device differ"));
  }
  Parameters back = parameters;
  std::memcpy(back.values.data(), stage_back_.data() + weights.layout.parameters,
              back.values.size() * sizeof(float));
  probe.sha256 = ParametersSha256(back);
  weights.staged_fit = FitOf(range, dataset_->states());
  weights.is_staged = true;
  return probe;
}

absl::Status CudaExecutor::Commit(WeightsKind kind, cudaStream_t stream) {
  const std::lock_guard lock(stage_mutex_);
  Weights& weights = of(kind);
  if (!weights.is_staged) return absl::OkStatus();
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(weights.live.data(), weights.staged.data(),
                                             weights.layout.bytes, cudaMemcpyDeviceToDevice,
                                             stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(weights.copied.get(), stream));
  weights.live_fit = weights.staged_fit;
  weights.is_live = true;
  weights.is_staged = false;
  return absl::OkStatus();
}

absl::Status CudaExecutor::CanLaunch() const {
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    if (kind == WeightsKind::kCuriosity && !needs_curiosity()) continue;
    if (of(kind).is_live) continue;
    return absl::FailedPreconditionError(base::StrCat(
        "no ", WeightsKindName(kind), " weights yet: push all that the settings need"));
  }
  return absl::OkStatus();
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

absl::Status CudaExecutor::FillArguments(const LaunchRequest& request, LaunchStaging& staging,
                                         DeviceBatch& batch, cudaStream_t stream) {
  const size_t rows = size_t{options_.episodes} * options_.steps;
  LaunchArguments launch;
  launch.rules = rules_;
  launch.market = dataset_->market();
  launch.episodes = options_.episodes;
  launch.steps = options_.steps;
  launch.seed = request.seed;
  launch.launch = request.launch;
  for (int i = 0; i < rules_.settings.action_count; ++i) {
    launch.allowed |= uint64_t{1} << rules_.settings.actions[i];
  }
  launch.epsilon = request.epsilon;
  launch.slots = slots_.data();
  launch.start_slots = options_.settings.carry_over ? batch.start_slots.data() : nullptr;
  launch.scratch = scratch_.data();
  launch.curiosity = curiosity_.data();
  launch.statistics = batch.statistics.data();
  launch.bad_row = batch.bad_row.data();
  launch.clamped = batch.bad_row.data() + 1;

  std::byte* at = batch.columns.data();
  const auto take = [&](size_t width) {
    std::byte* column = at;
    at += rows * width;
    return column;
  };
  launch.rows.bar = reinterpret_cast<uint32_t*>(take(4));
  launch.rows.episode = reinterpret_cast<uint32_t*>(take(4));
  launch.rows.portfolio = reinterpret_cast<float*>(take(12));
  launch.rows.next_portfolio = reinterpret_cast<float*>(take(12));
  launch.rows.reward = reinterpret_cast<float*>(take(4));
  launch.rows.td = reinterpret_cast<float*>(take(4));
  std::byte* terms = take(20);
  launch.rows.terms = batch.with_terms ? reinterpret_cast<float*>(terms) : nullptr;
  launch.rows.action = reinterpret_cast<uint8_t*>(take(1));
  launch.rows.flags = reinterpret_cast<uint8_t*>(take(1));
  launch.rows.q = batch.q.data();

  const auto send = [&](auto& pinned, auto& device, auto values) -> absl::Status {
    if (device.empty()) VIXEN_RETURN_IF_ERROR(device.Allocate(values.size()));
    if (pinned.size() < values.size()) VIXEN_RETURN_IF_ERROR(pinned.Allocate(values.size()));
    std::memcpy(pinned.data(), values.data(), values.size_bytes());
    VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(device.data(), pinned.data(), values.size_bytes(),
                                               cudaMemcpyHostToDevice, stream));
    return absl::OkStatus();
  };
  const ExplicitInputs& inputs = request.inputs;
  if (!inputs.rng.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.rng, rng_, inputs.rng));
    launch.rng = rng_.data();
  }
  if (!inputs.starts.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.starts, starts_, inputs.starts));
    launch.starts = starts_.data();
  }
  if (!inputs.actions.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.scripted, scripted_, inputs.actions));
    launch.scripted = scripted_.data();
  }
  if (!request.slot_states.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.slots, slots_, request.slot_states));
    launch.keep_slots = 1;
  } else if (options_.settings.carry_over && request.launch > 0 && inputs.rng.empty() &&
             inputs.starts.empty()) {
    if (!has_slots_) {
      return absl::FailedPreconditionError(base::StrCat(
          "launch ", request.launch,
          " with carry_over needs the slot states of the launch before it: give slot_states"));
    }
    launch.keep_slots = 1;
  }
  *staging.arguments.data() = launch;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(arguments_.data(), staging.arguments.data(),
                                             sizeof(LaunchArguments), cudaMemcpyHostToDevice,
                                             stream));
  return absl::OkStatus();
}

// The sequential phase of an algorithm with tiles or resident weights.
cudaError_t CudaExecutor::EnqueueSequence(CudaAlgorithm algorithm, const LaunchArguments& launch,
                                          const TilePolicy& tiles, cudaStream_t stream) const {
  const int sms = device_.multiprocessors;
  if (algorithm == CudaAlgorithm::kTiled) return EnqueueTiledSequence(launch, tiles, sms, stream);
  if (algorithm == CudaAlgorithm::kTiledMma) return EnqueueMmaSequence(launch, tiles, sms, stream);
  const Weights& online = of(WeightsKind::kOnline);
  const std::byte* const live = online.live.data();
  const std::byte* const image = live + online.layout.resident[static_cast<size_t>(tiles.operand)];
  const auto* const biases = reinterpret_cast<const float*>(live + online.layout.biases);
  return algorithm == CudaAlgorithm::kResidentSingle
             ? EnqueueSingleSequence(launch, tiles.operand, image, biases, sms, stream)
             : EnqueueResidentSequence(launch, tiles.operand, image, biases, resident_blocks_,
                                       stream);
}

absl::Status CudaExecutor::Enqueue(const LaunchRequest& request, LaunchStaging& staging,
                                   DeviceBatch& batch, cudaStream_t stream) {
  VIXEN_RETURN_IF_ERROR(CanLaunch());
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  VIXEN_RETURN_IF_ERROR(FillArguments(request, staging, batch, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueStart(arguments_.data(), options_.episodes, stream));
  WeightsFit fit = Both(of(WeightsKind::kOnline).live_fit, of(WeightsKind::kTarget).live_fit);
  if (needs_curiosity()) fit = Both(fit, of(WeightsKind::kCuriosity).live_fit);
  const LaunchChoice choice = ChooseLaunch(started_, options_.precision, fit);
  Announce(choice);
  if (choice.algorithm == CudaAlgorithm::kStepped) {
    const std::lock_guard lock(stage_mutex_);
    VIXEN_ASSIGN_OR_RETURN(SteppedAlgorithm* const stepped, SteppedOf(choice.precision));
    VIXEN_RETURN_IF_ERROR(stepped->EnqueueSequence(stream));
    VIXEN_RETURN_IF_ERROR(stepped->EnqueueBatch(stream));
  } else {
    const TilePolicy tiles = TilesOf(choice.precision);
    const LaunchArguments& launch = *staging.arguments.data();
    const int sms = device_.multiprocessors;
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueSequence(choice.algorithm, launch, tiles, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(FormOf(choice.algorithm) == TileForm::kFragments
                                   ? EnqueueMmaBatch(launch, tiles, sms, stream)
                                   : EnqueueBatchedPhase(launch, tiles, sms, stream));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueStatistics(arguments_.data(), options_.episodes, options_.steps,
                                               statistics_workspace_.data(), stream));
  has_slots_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SlotState>> CudaExecutor::ReadSlots(cudaStream_t stream) {
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  std::vector<SlotState> slots(options_.episodes);
  if (!has_slots_) return slots;
  VIXEN_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(slots.data(), slots_.data(), slots_.bytes(), cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return slots;
}

}  // namespace vixen::kernels
