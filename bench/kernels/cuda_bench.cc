// SPDX-License-Identifier: Apache-2.0
// Times launches of the CUDA executor with their output in device memory: algorithms × precisions ×
// N, beside the card's matrix and copy rates measured in the same run. One JSON line a measurement.
// Usage: cuda_bench [N…]
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_executor.h"

namespace vixen::kernels {
namespace {

constexpr uint32_t kSteps = 500;
constexpr uint32_t kBars = 1'000'000;

struct Market {
  std::vector<float> features, targets;
  std::vector<uint8_t> last;

  explicit Market(uint32_t width)
      : features(size_t{kBars} * width), targets(size_t{kBars} * 4), last(kBars) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (float& value : features) value = normal(random);
    double price = 100;
    for (uint32_t b = 0; b < kBars; ++b) {
      const double next = price * std::exp(5e-4 * normal(random));
      float* row = &targets[size_t{b} * 4];
      row[0] = static_cast<float>(price);
      row[1] = static_cast<float>(next);
      row[2] = static_cast<float>(std::max(price, next) * 1.0001);
      row[3] = static_cast<float>(std::min(price, next) * 0.9999);
      price = static_cast<float>(next);
      last[b] = b % 100'000 == 99'999 || b + 1 == kBars;
    }
  }
};

Parameters RandomWeights(const Architecture& architecture, WeightsKind kind) {
  std::mt19937 random(static_cast<unsigned>(kind) + 1);
  Parameters parameters{architecture, kind, {}};
  parameters.values.resize(ParameterCount(architecture, kind));
  for (const LayerLayout& layer : LayersOf(architecture, kind)) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(layer.inputs));
    std::uniform_real_distribution<float> uniform(-bound, bound);
    for (size_t i = layer.weight_offset; i < layer.bias_offset + layer.outputs; ++i) {
      parameters.values[i] = uniform(random);
    }
  }
  return parameters;
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Milliseconds(const Event& begin, const Event& end) {
  float ms = 0;
  Check(CudaStatus(cudaEventSynchronize(end.get()), "cudaEventSynchronize"));
  Check(CudaStatus(cudaEventElapsedTime(&ms, begin.get(), end.get()), "cudaEventElapsedTime"));
  return ms;
}

template <typename Work>
double MedianMilliseconds(cudaStream_t stream, int repeats, const Work& work) {
  std::vector<double> times;
  Event begin, end;
  Check(CreateEvent(begin, true));
  Check(CreateEvent(end, true));
  for (int i = 0; i < repeats + 2; ++i) {
    Check(CudaStatus(cudaEventRecord(begin.get(), stream), "cudaEventRecord"));
    work(i);
    Check(CudaStatus(cudaEventRecord(end.get(), stream), "cudaEventRecord"));
    const double ms = Milliseconds(begin, end);
    if (i >= 2) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Setting {
  const char* name;
  EnvSettings settings;
};

void Launches(const Market& market, const Architecture& architecture, uint32_t episodes,
              CudaAlgorithm algorithm, Precision precision, const Setting& setting) {
  CollectorOptions options;
  options.settings = setting.settings;
  options.market = {market.features.data(),
                    market.targets.data(),
                    market.last.data(),
                    kBars,
                    architecture.features,
                    0,
                    kBars};
  options.architecture = architecture;
  options.episodes = episodes;
  options.steps = kSteps;
  options.precision = precision;
  auto executor = CudaExecutor::Create(options, 0, algorithm);
  if (executor.status().code() == absl::StatusCode::kInvalidArgument) return;
  Check(executor.status());
  Stream stream;
  Check(CreateStream(stream));
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    Check((*executor)->Stage(RandomWeights(architecture, kind)).status());
    Check((*executor)->Commit(kind, stream.get()));
  }
  DeviceBatch batch;
  LaunchStaging staging;
  Check((*executor)->Allocate(batch, false));
  Check((*executor)->Allocate(staging));
  batch.with_terms = false;
  LaunchRequest request{.seed = 7, .launch = 0, .epsilon = 0.1f, .inputs = {}, .slot_states = {}};
  const int repeats = episodes <= 1024 ? 21 : 7;
  const double ms = MedianMilliseconds(stream.get(), repeats, [&](int i) {
    request.launch = i;
    Check((*executor)->Enqueue(request, staging, batch, stream.get()));
  });
  std::printf(
      "{\"bench\":\"kernel\",\"algorithm\":\"%s\",\"precision\":\"%s\",\"episodes\":%u,"
      "\"steps\":%u,\"widths\":\"%s\",\"setting\":\"%s\",\"ms\":%.4f,\"us_per_step\":%.3f,"
      "\"mtps\":%.2f}\n",
      (*executor)->info().algorithm.c_str(), std::string(PrecisionName(precision)).c_str(),
      episodes, kSteps, architecture.Describe().c_str(), setting.name, ms, ms * 1e3 / kSteps,
      static_cast<double>(episodes) * kSteps / ms / 1e3);
  std::fflush(stdout);
}

// Launch to launch time through the collector: kernel, copy to pinned memory and to the batch.
void Pipeline(const Market& market, uint32_t episodes) {
  const Architecture architecture;
  CollectorOptions options;
  options.market = {
      market.features.data(), market.targets.data(), market.last.data(), kBars, 51, 0, kBars};
  options.episodes = episodes;
  options.steps = kSteps;
  auto collector = MakeCudaCollector(options, 0, CudaAlgorithm::kAuto);
  Check(collector.status());
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    Check((*collector)->StageWeights(RandomWeights(architecture, kind)).status());
    (*collector)->CommitWeights(kind);
  }
  Batch first(episodes, kSteps, false);
  Batch second(episodes, kSteps, false);
  Batch* batches[2] = {&first, &second};
  LaunchRequest request{.seed = 7, .launch = 0, .epsilon = 0.1f, .inputs = {}, .slot_states = {}};
  const int launches = episodes <= 1024 ? 400 : 12;
  Check((*collector)->Launch(request, *batches[0]));
  timespec begin, end;
  for (int k = 1; k <= launches; ++k) {
    request.launch = k;
    Check((*collector)->Launch(request, *batches[k % 2]));
    Check((*collector)->Wait(*batches[(k + 1) % 2]));
    if (k == launches / 4) clock_gettime(CLOCK_MONOTONIC, &begin);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  Check((*collector)->Wait(*batches[launches % 2]));
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  const double ms = seconds * 1e3 / (launches - launches / 4);
  std::printf(
      "{\"bench\":\"pipeline\",\"algorithm\":\"%s\",\"episodes\":%u,\"ms\":%.4f,\"mtps\":%.2f}\n",
      (*collector)->info().algorithm.c_str(), episodes, ms,
      static_cast<double>(episodes) * kSteps / ms / 1e3);
  std::fflush(stdout);
}

void Ceilings() {
  constexpr int kSize = 8192;
  Stream stream;
  Check(CreateStream(stream));
  DeviceBuffer<float> a, b, c;
  Check(a.Allocate(size_t{kSize} * kSize));
  Check(b.Allocate(size_t{kSize} * kSize));
  Check(c.Allocate(size_t{kSize} * kSize));
  std::vector<float> host(a.size());
  std::mt19937 random(1);
  for (float& value : host) value = static_cast<float>(random() % 2048) / 1024.0f - 1.0f;
  Check(CudaStatus(cudaMemcpy(a.data(), host.data(), a.bytes(), cudaMemcpyHostToDevice),
                   "cudaMemcpy"));
  Check(CudaStatus(cudaMemcpy(b.data(), host.data(), b.bytes(), cudaMemcpyHostToDevice),
                   "cudaMemcpy"));
  DeviceBuffer<uint16_t> half;
  std::vector<uint16_t> half_host(a.size());
  for (size_t i = 0; i < half_host.size(); ++i)
    half_host[i] = __half_as_ushort(__float2half_rn(host[i]));
  Check(half.Allocate(a.size()));
  Check(CudaStatus(cudaMemcpy(half.data(), half_host.data(), half.bytes(), cudaMemcpyHostToDevice),
                   "cudaMemcpy"));
  cublasHandle_t cublas;
  if (cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) std::exit(1);
  cublasSetStream(cublas, stream.get());
  const float one = 1, zero = 0;
  const struct {
    const char* name;
    cudaDataType type;
    cublasComputeType_t compute;
  } products[] = {{"fp16", CUDA_R_16F, CUBLAS_COMPUTE_32F},
                  {"tf32", CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
                  {"fp32", CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC}};
  for (const auto& product : products) {
    const void* left =
        product.type == CUDA_R_16F ? static_cast<const void*>(half.data()) : a.data();
    const void* right =
        product.type == CUDA_R_16F ? static_cast<const void*>(half.data()) : b.data();
    const double ms = MedianMilliseconds(stream.get(), 5, [&](int) {
      cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kSize, &one, left, product.type,
                   kSize, right, product.type, kSize, &zero, c.data(), CUDA_R_32F, kSize,
                   product.compute, CUBLAS_GEMM_DEFAULT);
    });
    std::printf("{\"bench\":\"ceiling\",\"what\":\"%s product 8192^3\",\"tflops\":%.1f}\n",
                product.name, 2.0 * kSize * kSize * kSize / ms / 1e9);
  }
  const double ms = MedianMilliseconds(stream.get(), 9, [&](int) {
    Check(CudaStatus(
        cudaMemcpyAsync(c.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream.get()),
        "cudaMemcpyAsync"));
  });
  std::printf("{\"bench\":\"ceiling\",\"what\":\"device copy\",\"gbps\":%.1f}\n",
              2.0 * static_cast<double>(a.bytes()) / ms / 1e6);
  std::fflush(stdout);
  cublasDestroy(cublas);
}

int Main(int argc, char** argv) {
  Ceilings();
  std::vector<uint32_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  if (counts.empty()) counts = {128, 1024, 8192, 32'768};
  const Market market(51);
  const Setting standard{"default", {}};
  for (const uint32_t episodes : counts) {
    for (const CudaAlgorithm algorithm :
         {CudaAlgorithm::kResident, CudaAlgorithm::kTiled, CudaAlgorithm::kStepped}) {
      for (const Precision precision : {Precision::kFp16, Precision::kTf32, Precision::kFp32}) {
        Launches(market, {}, episodes, algorithm, precision, standard);
      }
    }
  }
  Pipeline(market, 128);
  if (counts.size() < 4) return 0;
  Setting variants[] = {{"recycle off, relabel", {}}, {"double DQN", {}}, {"carry-over", {}}};
  variants[0].settings.recycle = false;
  variants[0].settings.on_barrier = OnBarrier::kRelabel;
  variants[1].settings.double_dqn = true;
  variants[2].settings.carry_over = true;
  for (const Setting& variant : variants) {
    for (const uint32_t episodes : {128u, 32'768u}) {
      Launches(market, {}, episodes, CudaAlgorithm::kAuto, Precision::kFp16, variant);
    }
  }
  const Architecture shapes[] = {
      {133, 320, 256, 64, 128, 64}, {7, 64, 32, 16, 48, 16}, {51, 512, 512, 512, 512, 64}};
  for (const Architecture& shape : shapes) {
    const Market other(shape.features);
    for (const uint32_t episodes : {128u, 8192u}) {
      Launches(other, shape, episodes, CudaAlgorithm::kAuto, Precision::kFp16, standard);
    }
  }
  return 0;
}

}  // namespace
}  // namespace vixen::kernels

int main(int argc, char** argv) { return vixen::kernels::Main(argc, argv); }
