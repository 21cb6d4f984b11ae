// SPDX-License-Identifier: Apache-2.0
// The kernels of an update on a GPU one by one, each in a graph of its own, and all of them in
// turn: microseconds, and the rate of the matrix work beside that of one large product.
#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "bench/learner/matrix_limit.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "kernels/env/settings.h"
#include "learner/device/trainer_memory.h"
#include "learner/trainer/initial_weights.h"
#include "proto/config/command_line.h"

namespace vixen::bench {
namespace {

using learner::DeviceNetwork;
using learner::PassShape;
using learner::UpdateBuffers;
using learner::UpdateSettings;
using Launch = std::function<cudaError_t(cudaStream_t)>;

constexpr char kProgram[] = "pass_bench";
constexpr int kLaunches = 20;  // of one graph

struct Flags {
  int gpu = 0;
  uint32_t batch_size = 8192;
  std::string algorithm = "best";
  int rounds = 25;
};

// Network and minibatch that the kernels work on.
struct Passes {
  kernels::Architecture architecture;
  DeviceNetwork network;
  UpdateSettings settings;
  PassShape shape;
  learner::TrainerMemory memory;
  kernels::Stream stream;

  const UpdateBuffers& buffers() const { return memory.of(0); }
};

template <typename T, typename Draw>
absl::Status Fill(T* to, size_t count, const Draw& draw) {
  std::vector<T> host(count);
  std::generate(host.begin(), host.end(), draw);
  VIXEN_CUDA_RETURN_IF_ERROR(
      cudaMemcpy(to, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  return absl::OkStatus();
}

// Random weights and rows: zeros would be multiplied faster.
absl::Status SetUp(const Flags& flags, Passes& passes) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::CudaDevice gpu, kernels::QueryCudaDevice(flags.gpu));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(flags.gpu));
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(passes.stream));
  passes.network = learner::DeviceNetworkOf(passes.architecture);
  UpdateSettings& settings = passes.settings;
  settings.batch = flags.batch_size;
  settings.rows = learner::PaddedRows(flags.batch_size);
  settings.action_count = kernels::kActions;
  settings.actions = (uint64_t{1} << kernels::kActions) - 1;
  auto algorithm = learner::PassAlgorithm::kBest;
  if (flags.algorithm == "mma") algorithm = learner::PassAlgorithm::kMma;
  if (flags.algorithm == "wgmma") algorithm = learner::PassAlgorithm::kWgmma;
  passes.shape = ChoosePassShape(passes.network, learner::DevicePrecision::kTf32, settings.rows,
                                 {.capability = gpu.capability(),
                                  .multiprocessors = gpu.multiprocessors,
                                  .shared_bytes = gpu.shared_bytes_per_block},
                                 algorithm);
  VIXEN_RETURN_IF_ERROR(passes.memory.Allocate(passes.network, passes.shape, settings, 1));
  const UpdateBuffers& buffers = passes.buffers();
  using kernels::WeightsKind;
  for (const auto& [kind, to] : {std::pair{WeightsKind::kOnline, buffers.online},
                                 std::pair{WeightsKind::kTarget, buffers.target}}) {
    VIXEN_RETURN_IF_ERROR(
        passes.memory.Upload(passes.network, learner::InitialWeights(passes.architecture, kind, 1),
                             to, passes.stream.get()));
  }
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  VIXEN_RETURN_IF_ERROR(Fill(static_cast<float*>(buffers.states),
                             size_t{2} * settings.rows * passes.network.layers[0].inputs,
                             [&] { return std::round(256 * normal(random)) / 256; }));
  VIXEN_RETURN_IF_ERROR(Fill(buffers.action, settings.rows,
                             [&] { return static_cast<uint8_t>(random() % kernels::kActions); }));
  VIXEN_RETURN_IF_ERROR(Fill(buffers.reward, settings.rows, [&] { return normal(random); }));
  VIXEN_RETURN_IF_ERROR(Fill(buffers.discount, settings.rows, [&] { return 0.99f; }));
  VIXEN_RETURN_IF_ERROR(Fill(buffers.weight, settings.rows, [&] { return 1.0f; }));
  VIXEN_CUDA_RETURN_IF_ERROR(PreparePasses(passes.network, passes.shape));
  VIXEN_CUDA_RETURN_IF_ERROR(
      LaunchImages(passes.network, passes.shape, buffers, passes.stream.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(passes.stream.get()));
  return absl::OkStatus();
}

// Microseconds of the launches, in the median of graphs of kLaunches times all of them.
absl::StatusOr<double> Measure(const std::vector<Launch>& launches, int rounds,
                               cudaStream_t stream) {
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaError_t launched = cudaSuccess;
  for (int i = 0; i < kLaunches; ++i) {
    for (const Launch& launch : launches) {
      if (launched == cudaSuccess) launched = launch(stream);
    }
  }
  cudaGraph_t captured = nullptr;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamEndCapture(stream, &captured));
  kernels::GraphExec graph;
  const cudaError_t made = cudaGraphInstantiate(graph.receive(), captured, 0);
  cudaGraphDestroy(captured);
  VIXEN_CUDA_RETURN_IF_ERROR(launched);
  VIXEN_CUDA_RETURN_IF_ERROR(made);
  kernels::Event begin, end;
  VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(begin, true));
  VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(end, true));
  std::vector<float> milliseconds(static_cast<size_t>(rounds));
  for (int round = -3; round < rounds; ++round) {  // three to warm up
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(begin.get(), stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(graph.get(), stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(end.get(), stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventSynchronize(end.get()));
    float& took = milliseconds[static_cast<size_t>(std::max(round, 0))];
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&took, begin.get(), end.get()));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return 1e3 * milliseconds[milliseconds.size() / 2] / kLaunches;
}

absl::Status Run(const Flags& flags) {
  Passes passes;
  VIXEN_RETURN_IF_ERROR(SetUp(flags, passes));
  const auto with = [&passes](auto launch, auto... last) -> Launch {
    return [&passes, launch, last...](cudaStream_t stream) {
      return launch(passes.network, passes.shape, passes.settings, passes.buffers(), last...,
                    stream);
    };
  };
  const std::pair<const char*, Launch> kKernels[] = {
      {"forward", with(learner::LaunchForward)},
      {"loss, backward", with(learner::LaunchBackward)},
      {"weights' gradients", with(learner::LaunchWeightGradients)},
      {"sum, norm", with(learner::LaunchReduce, 0u)},
      {"step", with(learner::LaunchStep, 0u)}};
  constexpr int kOfMatrixWork = 3;

  std::cout << absl::StrFormat("batch %d, %s, blocks of %d and %d rows, %d parts\n",
                               flags.batch_size, passes.shape.wgmma ? "wgmma" : "mma.sync",
                               passes.shape.forward_rows, passes.shape.backward_rows,
                               passes.shape.splits);
  std::vector<Launch> all;
  double matrix_work = 0.0;
  for (const auto& [name, launch] : kKernels) {
    VIXEN_ASSIGN_OR_RETURN(const double took, Measure({launch}, flags.rounds, passes.stream.get()));
    std::cout << absl::StrFormat("%s %.1f us\n", name, took);
    if (all.size() < kOfMatrixWork) matrix_work += took;
    all.push_back(launch);
  }
  VIXEN_ASSIGN_OR_RETURN(const double update, Measure(all, flags.rounds, passes.stream.get()));
  const std::vector<Launch> passes_alone(all.begin(), all.begin() + kOfMatrixWork);
  VIXEN_ASSIGN_OR_RETURN(const double in_turn,
                         Measure(passes_alone, flags.rounds, passes.stream.get()));
  const double gigaflop = GigaflopOfUpdate(passes.architecture, flags.batch_size);
  learner::Devices devices;
  devices.gpu = flags.gpu;
  VIXEN_ASSIGN_OR_RETURN(const double limit,
                         LargeProductGflops(devices, 1, learner::DevicePrecision::kTf32));
  for (const auto& [name, took] :
       {std::pair{"matrix work, each kernel alone", matrix_work},
        std::pair{"matrix work, the three in turn", in_turn}, std::pair{"all five", update}}) {
    const double rate = gigaflop / took * 1e3;  // TFLOP/s
    std::cout << absl::StrFormat("%s %.1f us, %.1f TFLOP/s, %.1f %% of a large product's %.0f\n",
                                 name, took, rate, 1e5 * rate / limit, limit / 1e3);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace vixen::bench

int main(int argc, char** argv) {
  vixen::bench::Flags flags;
  CLI::App app("The kernels of an update on a GPU, one by one, in TF32", vixen::bench::kProgram);
  app.add_option("--gpu", flags.gpu)->check(CLI::Range(0, 1023))->capture_default_str();
  app.add_option("--batch_size", flags.batch_size, "rows of an update")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  app.add_option("--algorithm", flags.algorithm)
      ->check(CLI::IsMember({"best", "mma", "wgmma"}))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "graphs of 20 launches")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  if (const auto exit_code =
          vixen::config::ParseCommandLine(app, argc, argv, vixen::bench::kProgram)) {
    return *exit_code;
  }
  return vixen::base::ReportStatus(vixen::bench::kProgram, vixen::bench::Run(flags));
}
