// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include <random>

#include "bench/kernels/cuda_kernel_bench.h"
#include "bench/kernels/cuda_mma_rate.h"
#include "bench/kernels/cuda_timing.h"
#include "kernels/cuda/buffer.h"
#include "kernels/cuda/cublas.h"
#include "kernels/cuda/device.h"

namespace vixen::bench {
namespace {

using kernels::DeviceBuffer;
using kernels::Precision;

constexpr int kSize = 8192;
constexpr size_t kElements = size_t{kSize} * kSize;

// Random values: zeros would draw less power and run at a higher clock.
struct Operands {
  DeviceBuffer<float> single;
  DeviceBuffer<uint16_t> half;
  DeviceBuffer<float> result;

  absl::Status Fill() {
    std::vector<float> values(kElements);
    std::vector<uint16_t> halves(kElements);
    std::mt19937 random(1);
    for (size_t i = 0; i < kElements; ++i) {
      values[i] = static_cast<float>(random() % 2048) / 1024.0f - 1.0f;
      halves[i] = __half_as_ushort(__float2half_rn(values[i]));
    }
    VIXEN_RETURN_IF_ERROR(single.Allocate(kElements));
    VIXEN_RETURN_IF_ERROR(half.Allocate(kElements));
    VIXEN_RETURN_IF_ERROR(result.Allocate(kElements));
    VIXEN_CUDA_RETURN_IF_ERROR(
        cudaMemcpy(single.data(), values.data(), single.bytes(), cudaMemcpyHostToDevice));
    VIXEN_CUDA_RETURN_IF_ERROR(
        cudaMemcpy(half.data(), halves.data(), half.bytes(), cudaMemcpyHostToDevice));
    return absl::OkStatus();
  }
};

absl::StatusOr<double> ProductTflops(const kernels::Cublas& api, cublasHandle_t handle,
                                     Operands& operands, Precision precision, cudaStream_t stream) {
  const bool half = precision == Precision::kFp16;
  const cudaDataType type = half ? CUDA_R_16F : CUDA_R_32F;
  const cublasComputeType_t compute = precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : half                        ? CUBLAS_COMPUTE_32F
                                                                    : CUBLAS_COMPUTE_32F_PEDANTIC;
  const void* in = half ? static_cast<const void*>(operands.half.data()) : operands.single.data();
  const float one = 1.0f;
  const float zero = 0.0f;
  VIXEN_ASSIGN_OR_RETURN(
      const double ms, MedianMilliseconds(stream, 5, [&](int) -> absl::Status {
        VIXEN_CUBLAS_RETURN_IF_ERROR(api.gemm(
            handle, CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kSize, &one, in, type, kSize, in, type,
            kSize, &zero, operands.result.data(), CUDA_R_32F, kSize, compute, CUBLAS_GEMM_DEFAULT));
        return absl::OkStatus();
      }));
  return 2.0 * kSize * kSize * kSize / ms / 1e9;
}

absl::Status MeasureProducts(Operands& operands, cudaStream_t stream, CudaCeilings& ceilings) {
  const auto api = kernels::LoadCublas();
  if (!api.ok()) return absl::OkStatus();  // an image without cuBLAS: the ceilings stay 0
  cublasHandle_t handle = nullptr;
  VIXEN_CUBLAS_RETURN_IF_ERROR((*api)->create(&handle));
  const auto measure = [&]() -> absl::Status {
    VIXEN_CUBLAS_RETURN_IF_ERROR((*api)->set_stream(handle, stream));
    for (const auto& [precision, tflops] : {std::pair{Precision::kFp16, &ceilings.fp16_tflops},
                                            std::pair{Precision::kTf32, &ceilings.tf32_tflops},
                                            std::pair{Precision::kFp32, &ceilings.fp32_tflops}}) {
      VIXEN_ASSIGN_OR_RETURN(*tflops, ProductTflops(**api, handle, operands, precision, stream));
    }
    return absl::OkStatus();
  };
  const absl::Status status = measure();
  (*api)->destroy(handle);
  return status;
}

absl::Status MeasureMmaRates(int multiprocessors, float* sink, cudaStream_t stream,
                             CudaCeilings& ceilings) {
  for (const auto& [shape, tflops] : {std::pair{MmaShape::kFp16, &ceilings.mma_fp16_tflops},
                                      std::pair{MmaShape::kTf32, &ceilings.mma_tf32_tflops}}) {
    VIXEN_ASSIGN_OR_RETURN(
        const double ms, MedianMilliseconds(stream, 9, [&, s = shape](int) -> absl::Status {
          VIXEN_CUDA_RETURN_IF_ERROR(EnqueueMmaRate(s, multiprocessors, sink, stream));
          return absl::OkStatus();
        }));
    *tflops = MmaRateFlops(shape, multiprocessors) / ms / 1e9;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CopyGbPerSecond(void* to, const void* from, size_t bytes,
                                       cudaMemcpyKind kind, cudaStream_t stream) {
  VIXEN_ASSIGN_OR_RETURN(
      const double ms, MedianMilliseconds(stream, 9, [&](int) -> absl::Status {
        VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(to, from, bytes, kind, stream));
        return absl::OkStatus();
      }));
  return static_cast<double>(bytes) / ms / 1e6;
}

}  // namespace

double CudaCeilings::tflops(Precision precision) const {
  switch (precision) {
    case Precision::kFp16:
      return fp16_tflops;
    case Precision::kTf32:
      return tf32_tflops;
    case Precision::kFp32:
      return fp32_tflops;
    case Precision::kAuto:
      break;
  }
  return 0;
}

double CudaCeilings::mma_tflops(Precision precision) const {
  switch (precision) {
    case Precision::kFp16:
      return mma_fp16_tflops;
    case Precision::kTf32:
      return mma_tf32_tflops;
    case Precision::kFp32:
    case Precision::kAuto:
      break;
  }
  return 0;
}

absl::StatusOr<CudaCeilings> MeasureCudaCeilings(int gpu) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::CudaDevice device, kernels::QueryCudaDevice(gpu));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(device.index));
  kernels::Stream stream;
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(stream));
  Operands operands;
  VIXEN_RETURN_IF_ERROR(operands.Fill());
  CudaCeilings ceilings;
  VIXEN_RETURN_IF_ERROR(MeasureProducts(operands, stream.get(), ceilings));
  if (device.capability() >= 80) {
    VIXEN_RETURN_IF_ERROR(
        MeasureMmaRates(device.multiprocessors, operands.result.data(), stream.get(), ceilings));
  }
  const DeviceBuffer<float>& from = operands.single;
  VIXEN_ASSIGN_OR_RETURN(const double one_way,
                         CopyGbPerSecond(operands.result.data(), from.data(), from.bytes(),
                                         cudaMemcpyDeviceToDevice, stream.get()));
  ceilings.device_copy_gb_per_s = 2 * one_way;
  kernels::PinnedBuffer<float> host;
  VIXEN_RETURN_IF_ERROR(host.Allocate(from.size()));
  VIXEN_ASSIGN_OR_RETURN(ceilings.host_copy_gb_per_s,
                         CopyGbPerSecond(host.data(), from.data(), from.bytes(),
                                         cudaMemcpyDeviceToHost, stream.get()));
  return ceilings;
}

}  // namespace vixen::bench
