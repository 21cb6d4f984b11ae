// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/cuda_kernel_bench.h"

#include <chrono>
#include <memory>

#include "bench/kernels/cuda_timing.h"
#include "bench/kernels/kernel_bench.h"
#include "bench/kernels/random_policy.h"
#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_executor.h"

namespace vixen::bench {
namespace {

using kernels::Architecture;
using kernels::CollectorOptions;
using kernels::CudaAlgorithm;
using kernels::CudaExecutor;
using kernels::LaunchRequest;
using kernels::Precision;
using kernels::WeightsKind;

constexpr WeightsKind kKinds[] = {WeightsKind::kOnline, WeightsKind::kTarget,
                                  WeightsKind::kCuriosity};
constexpr float kEpsilon = 0.1f;

struct Shape {
  uint32_t episodes;
  uint32_t steps;
  Architecture architecture;
  kernels::EnvSettings settings;
  const char* setting = "default";
};

CollectorOptions OptionsOf(const Shape& shape, const RandomMarket& market, Precision precision) {
  CollectorOptions options;
  options.settings = shape.settings;
  options.market = market.view;
  options.architecture = shape.architecture;
  options.episodes = shape.episodes;
  options.steps = shape.steps;
  options.precision = precision;
  return options;
}

int RepeatsOf(uint32_t episodes) { return episodes <= 1024 ? 21 : 7; }

LaunchRequest RequestOf(uint64_t launch) {
  return {.seed = 7, .launch = launch, .epsilon = kEpsilon, .inputs = {}, .slot_states = {}};
}

// Median milliseconds of a launch of `executor` into device memory.
absl::StatusOr<double> LaunchMilliseconds(CudaExecutor& executor, const Shape& shape,
                                          std::vector<kernels::KernelUse>* uses = nullptr) {
  kernels::Stream stream;
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(stream));
  for (const WeightsKind kind : kKinds) {
    const uint64_t seed = 1 + static_cast<uint64_t>(kind);
    VIXEN_RETURN_IF_ERROR(
        executor.Stage(RandomParameters(shape.architecture, kind, seed)).status());
    VIXEN_RETURN_IF_ERROR(executor.Commit(kind, stream.get()));
  }
  kernels::DeviceBatch batch;
  kernels::LaunchStaging staging;
  VIXEN_RETURN_IF_ERROR(executor.Allocate(batch, false));
  VIXEN_RETURN_IF_ERROR(executor.Allocate(staging));
  batch.with_terms = false;
  const auto launch = [&](int i) {
    return executor.Enqueue(RequestOf(static_cast<uint64_t>(i)), staging, batch, stream.get());
  };
  if (uses != nullptr) {
    const kernels::KernelLog log;
    VIXEN_RETURN_IF_ERROR(launch(0));
    *uses = log.uses();
  }
  return MedianMilliseconds(stream.get(), RepeatsOf(shape.episodes), launch);
}

class Bench {
 public:
  Bench(const CudaBenchOptions& options, const CudaCeilings& ceilings,
        const std::function<void(const CudaBenchRow&)>& sink)
      : options_(options), ceilings_(ceilings), sink_(sink) {}

  absl::Status Measure(const Shape& shape, const RandomMarket& market, CudaAlgorithm algorithm,
                       Precision precision) {
    const auto executor =
        CudaExecutor::Create(OptionsOf(shape, market, precision), options_.gpu, algorithm);
    if (absl::IsInvalidArgument(executor.status())) return absl::OkStatus();
    VIXEN_RETURN_IF_ERROR(executor.status());
    std::vector<kernels::KernelUse> uses;
    VIXEN_ASSIGN_OR_RETURN(const double ms, LaunchMilliseconds(**executor, shape, &uses));
    CudaBenchRow row{.algorithm = (*executor)->info().algorithm,
                     .precision = precision,
                     .episodes = shape.episodes,
                     .steps = shape.steps,
                     .widths = shape.architecture.Describe(),
                     .setting = shape.setting,
                     .median_ms = ms,
                     .kernels = std::move(uses)};
    row.transitions_per_second = double{1e3} * shape.episodes * shape.steps / ms;
    row.tflops = row.transitions_per_second * FlopsPerTransition(shape.architecture) / 1e12;
    const double ceiling = ceilings_.tflops(precision);
    row.share_of_ceiling = ceiling > 0 ? row.tflops / ceiling : 0;
    const double mma = ceilings_.mma_tflops(precision);
    row.share_of_mma_sync = mma > 0 ? row.tflops / mma : 0;
    sink_(row);
    return absl::OkStatus();
  }

  absl::Status MeasureDefaultShapes(const RandomMarket& market) {
    for (const uint32_t episodes : options_.episodes) {
      for (const CudaAlgorithm algorithm : options_.algorithms) {
        for (const Precision precision : options_.precisions) {
          VIXEN_RETURN_IF_ERROR(
              Measure({episodes, options_.steps, {}, {}}, market, algorithm, precision));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status MeasureVariants(const RandomMarket& market) {
    Shape settings[] = {{0, options_.steps, {}, {}, "recycle off, relabel"},
                        {0, options_.steps, {}, {}, "double DQN"},
                        {0, options_.steps, {}, {}, "carry-over"}};
    settings[0].settings.recycle = false;
    settings[0].settings.on_barrier = kernels::OnBarrier::kRelabel;
    settings[1].settings.double_dqn = true;
    settings[2].settings.carry_over = true;
    for (Shape& shape : settings) {
      VIXEN_RETURN_IF_ERROR(MeasureAgainstStepped(shape, market, {128, 32'768}));
    }
    for (const Architecture& widths :
         {Architecture{133, 320, 256, 64, 128, 64}, Architecture{7, 64, 32, 16, 48, 16},
          Architecture{51, 512, 512, 512, 512, 64}}) {
      const RandomMarket other(options_.bars, widths.features, 1);
      Shape shape{0, options_.steps, widths, {}};
      VIXEN_RETURN_IF_ERROR(MeasureAgainstStepped(shape, other, {128, 8192}));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MeasureAgainstStepped(Shape& shape, const RandomMarket& market,
                                     std::initializer_list<uint32_t> counts) {
    for (const uint32_t episodes : counts) {
      shape.episodes = episodes;
      for (const CudaAlgorithm algorithm : {CudaAlgorithm::kAuto, CudaAlgorithm::kStepped}) {
        VIXEN_RETURN_IF_ERROR(Measure(shape, market, algorithm, Precision::kFp16));
      }
    }
    return absl::OkStatus();
  }

  const CudaBenchOptions& options_;
  const CudaCeilings& ceilings_;
  const std::function<void(const CudaBenchRow&)>& sink_;
};

}  // namespace

absl::Status MeasureCudaLaunches(const CudaBenchOptions& options, const CudaCeilings& ceilings,
                                 const std::function<void(const CudaBenchRow&)>& sink) {
  const RandomMarket market(options.bars, Architecture().features, 1);
  Bench bench(options, ceilings, sink);
  VIXEN_RETURN_IF_ERROR(bench.MeasureDefaultShapes(market));
  return options.variants ? bench.MeasureVariants(market) : absl::OkStatus();
}

absl::StatusOr<CudaPipelineRow> MeasureCudaPipeline(int gpu, uint32_t episodes, uint32_t steps) {
  const RandomMarket market(1'000'000, Architecture().features, 1);
  const Shape shape{episodes, steps, {}, {}};
  const CollectorOptions options = OptionsOf(shape, market, Precision::kAuto);
  CudaPipelineRow row{.episodes = episodes};
  {
    VIXEN_ASSIGN_OR_RETURN(const auto executor,
                           CudaExecutor::Create(options, gpu, CudaAlgorithm::kAuto));
    VIXEN_ASSIGN_OR_RETURN(row.launch_ms, LaunchMilliseconds(*executor, shape));
  }
  VIXEN_ASSIGN_OR_RETURN(const auto collector,
                         kernels::MakeCudaCollector(options, gpu, CudaAlgorithm::kAuto));
  row.algorithm = collector->info().algorithm;
  for (const WeightsKind kind : kKinds) {
    const uint64_t seed = 1 + static_cast<uint64_t>(kind);
    VIXEN_RETURN_IF_ERROR(
        collector->StageWeights(RandomParameters(shape.architecture, kind, seed)).status());
    collector->CommitWeights(kind);
  }
  using Clock = std::chrono::steady_clock;
  const int launches = episodes <= 1024 ? 400 : 24;
  const int warm_up = launches / 4;
  Clock::time_point start;
  auto older = std::make_unique<kernels::Batch>(collector->MakeBatch(true));
  VIXEN_RETURN_IF_ERROR(collector->Launch(RequestOf(0), *older));
  for (int k = 1; k <= warm_up + launches; ++k) {
    if (k == warm_up) start = Clock::now();
    auto newer = std::make_unique<kernels::Batch>(collector->MakeBatch(true));
    VIXEN_RETURN_IF_ERROR(collector->Launch(RequestOf(static_cast<uint64_t>(k)), *newer));
    VIXEN_RETURN_IF_ERROR(collector->Wait(*older));
    older = std::move(newer);  // the consumer lets go of the older one here
  }
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
  VIXEN_RETURN_IF_ERROR(collector->Wait(*older));
  row.launch_to_launch_ms = elapsed.count() / (launches + 1);
  row.busy_share = row.launch_ms / row.launch_to_launch_ms;
  return row;
}

}  // namespace vixen::bench
