// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>

#include "base/cpu_count.h"
#include "base/status_macros.h"
#include "base/worker_pool.h"
#include "bench/kernels/random_policy.h"
#include "kernels/nn/dense.h"

namespace vixen::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status LoadWeights(const kernels::Architecture& architecture, kernels::Collector& collector) {
  for (const auto kind : {kernels::WeightsKind::kOnline, kernels::WeightsKind::kTarget,
                          kernels::WeightsKind::kCuriosity}) {
    const uint64_t seed = 1 + static_cast<uint64_t>(kind);
    VIXEN_RETURN_IF_ERROR(
        collector.StageWeights(RandomParameters(architecture, kind, seed)).status());
    collector.CommitWeights(kind);
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelBenchRow> MeasureShape(KernelBenchOptions::Shape shape,
                                            const KernelBenchOptions& options,
                                            const RandomMarket& market,
                                            const kernels::CollectorFactory& factory,
                                            kernels::CollectorInfo& info) {
  kernels::CollectorOptions collector_options;
  collector_options.market = market.view;
  collector_options.episodes = shape.episodes;
  collector_options.steps = shape.steps;
  collector_options.threads = options.threads;
  const kernels::Architecture& architecture = collector_options.architecture;
  VIXEN_ASSIGN_OR_RETURN(const auto collector, factory(collector_options));
  VIXEN_RETURN_IF_ERROR(LoadWeights(architecture, *collector));
  info = collector->info();

  kernels::Batch batch(shape.episodes, shape.steps, false);
  kernels::LaunchRequest request;
  request.seed = 1;
  request.epsilon = options.epsilon;
  std::vector<double> seconds;
  for (int i = 0; i <= options.repeats; ++i) {
    request.launch = static_cast<uint64_t>(i);
    const Clock::time_point start = Clock::now();
    VIXEN_RETURN_IF_ERROR(collector->Launch(request, batch));
    VIXEN_RETURN_IF_ERROR(collector->Wait(batch));
    if (i > 0) seconds.push_back(SecondsSince(start));
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  KernelBenchRow row;
  row.shape = shape;
  row.median_ms = 1e3 * median;
  row.fastest_ms = 1e3 * seconds.front();
  row.slowest_ms = 1e3 * seconds.back();
  row.transitions_per_second = static_cast<double>(batch.rows()) / median;
  row.gflops = row.transitions_per_second * FlopsPerTransition(architecture) / 1e9;
  return row;
}

}  // namespace

double FlopsPerTransition(const kernels::Architecture& architecture) {
  double flops = 0;
  for (const auto kind : {kernels::WeightsKind::kOnline, kernels::WeightsKind::kTarget,
                          kernels::WeightsKind::kCuriosity}) {
    for (const kernels::LayerLayout& layer : kernels::LayersOf(architecture, kind)) {
      flops += 2.0 * layer.inputs * layer.outputs;
    }
  }
  return flops;
}

double LargeProductGflops(int threads) {
  constexpr size_t kWidth = 1024;
  constexpr size_t kRows = 64;
  constexpr int kPieces = 32;
  constexpr int kRepeats = 5;
  const kernels::MatrixKernel kernel = kernels::AvailableMatrixKernels().front();
  kernels::PackedLayer layer = kernels::MakePackedLayer(kWidth, kWidth);
  std::fill(layer.weights.begin(), layer.weights.end(), 0.01f);
  base::WorkerPool pool(threads);
  std::deque<kernels::AlignedFloats> in(threads, kernels::AlignedFloats(kWidth * kRows, 1.0f));
  std::deque<kernels::AlignedFloats> out(threads, kernels::AlignedFloats(kWidth * kRows));
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::time_point start = Clock::now();
    pool.ParallelFor(kPieces, [&](int64_t, int thread) {
      kernels::DenseForward(kernel, layer, false, in[thread].data(), out[thread].data(), kRows);
    });
    const double flops = 2.0 * kWidth * kWidth * kRows * kPieces;
    best = std::max(best, flops / SecondsSince(start) / 1e9);
  }
  return best;
}

absl::StatusOr<KernelBenchResult> RunKernelBench(const KernelBenchOptions& options,
                                                 const kernels::CollectorFactory& factory) {
  const int threads = options.threads > 0 ? options.threads : base::AvailableCpus();
  const RandomMarket market(options.bars, kernels::Architecture().features, 1);
  KernelBenchResult result;
  result.ceiling_gflops = LargeProductGflops(threads);
  for (const KernelBenchOptions::Shape& shape : options.shapes) {
    VIXEN_ASSIGN_OR_RETURN(KernelBenchRow row,
                           MeasureShape(shape, options, market, factory, result.info));
    result.rows.push_back(row);
  }
  return result;
}

std::string DescribeKernelBench(const KernelBenchResult& result) {
  std::string text = result.info.executor + " executor, " + result.info.device + ", " +
                     result.info.algorithm + " (" + result.info.reason + ")\n";
  char line[160];
  std::snprintf(line, sizeof line, "plain large matrix product: %.1f GFLOP/s\n",
                result.ceiling_gflops);
  text += line;
  for (const KernelBenchRow& row : result.rows) {
    std::snprintf(line, sizeof line,
                  "N=%u L=%u: median %.1f ms (%.1f to %.1f), %.3f M transitions/s, %.1f GFLOP/s "
                  "(%.0f %%)\n",
                  row.shape.episodes, row.shape.steps, row.median_ms, row.fastest_ms,
                  row.slowest_ms, row.transitions_per_second / 1e6, row.gflops,
                  100.0 * row.gflops / result.ceiling_gflops);
    text += line;
  }
  return text;
}

}  // namespace vixen::bench
