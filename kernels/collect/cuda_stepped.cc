// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_stepped.h"

#include <algorithm>

#include "base/status_macros.h"
#include "kernels/collect/cuda_stepped_kernels.h"

namespace vixen::kernels {
namespace {

constexpr size_t kCublasWorkspaceBytes = size_t{32} << 20;
constexpr uint32_t kMostGraphSteps = 256;
constexpr uint32_t kMostPieceRows = 65'536;
constexpr int kStepPosition = 0;
constexpr int kRowPosition = 1;

}  // namespace

SteppedAlgorithm::~SteppedAlgorithm() {
  if (cublas_ != nullptr) api_->destroy(cublas_);
}

// output [rows, m.outputs] = input [rows, m.inputs] (rows `stride` apart) · matrixᵀ.
absl::Status SteppedAlgorithm::Multiply(const LiveWeights& weights, int matrix, const void* input,
                                        uint32_t stride, uint32_t rows, float* output) {
  const WeightsLayout::Matrix& m = weights.layout.matrices[matrix];
  const float one = 1.0f;
  const float zero = 0.0f;
  const cudaDataType type = half() ? CUDA_R_16F : CUDA_R_32F;
  const cublasComputeType_t compute = precision_ == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : half()                       ? CUBLAS_COMPUTE_32F
                                                                     : CUBLAS_COMPUTE_32F_PEDANTIC;
  VIXEN_CUBLAS_RETURN_IF_ERROR(api_->gemm(
      cublas_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(m.outputs), static_cast<int>(rows),
      static_cast<int>(m.inputs), &one, weights.image + (half() ? m.f16 : m.f32), type,
      static_cast<int>(m.inputs), input, type, static_cast<int>(stride), &zero, output, CUDA_R_32F,
      static_cast<int>(m.outputs), compute, CUBLAS_GEMM_DEFAULT));
  return absl::OkStatus();
}

// States in `input_` → streams in `input_`, advantage products in `product_`.
absl::Status SteppedAlgorithm::Network(const LiveWeights& weights, uint32_t rows,
                                       const uint64_t* first_row, cudaStream_t stream) {
  const BiasLayout at = BiasesOf(options_.architecture, WeightsKind::kOnline);
  const float* biases = weights.at<float>(weights.layout.biases);
  const auto& m = weights.layout.matrices;
  const auto layer = [&](int index, uint32_t bias, const float* in, float* out) -> absl::Status {
    VIXEN_RETURN_IF_ERROR(Multiply(weights, index, in, m[index].inputs, rows, product_.data()));
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueActivation(arguments_, first_row, product_.data(),
                                                 biases + bias, rows, m[index].outputs, half(), out,
                                                 stream));
    return absl::OkStatus();
  };
  VIXEN_RETURN_IF_ERROR(layer(0, at.layer0, input_.data(), activation_.data()));
  VIXEN_RETURN_IF_ERROR(layer(1, at.layer1, activation_.data(), input_.data()));
  VIXEN_RETURN_IF_ERROR(layer(2, at.layer2, input_.data(), activation_.data()));
  const size_t element = half() ? 2 : 4;
  const std::byte* advantage = reinterpret_cast<const std::byte*>(activation_.data()) +
                               options_.architecture.value_hidden * element;
  return Multiply(weights, 3, advantage, m[2].outputs, rows, product_.data());
}

namespace {

HeadInputs HeadOf(const LiveWeights& weights, const Architecture& architecture, const void* streams,
                  const float* advantage) {
  const BiasLayout at = BiasesOf(architecture, WeightsKind::kOnline);
  const float* biases = weights.at<float>(weights.layout.biases);
  return {.streams = streams,
          .advantage = advantage,
          .value_weights = biases + at.value,
          .value_bias = biases + at.value_bias,
          .advantage_bias = biases + at.advantage,
          .value_hidden = architecture.value_hidden,
          .streams_width = architecture.value_hidden + architecture.advantage_hidden};
}

}  // namespace

absl::Status SteppedAlgorithm::Step(uint32_t offset, cudaStream_t stream) {
  const LiveWeights& online = weights_.online;
  const uint32_t width = online.layout.matrices[0].inputs;
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueSlotStates(arguments_, market_, options_.episodes, width,
                                               half(), input_.data(), stream));
  VIXEN_RETURN_IF_ERROR(Network(online, options_.episodes, nullptr, stream));
  const HeadInputs head =
      HeadOf(online, options_.architecture, activation_.data(), product_.data());
  VIXEN_CUDA_RETURN_IF_ERROR(
      EnqueueRules(arguments_, head, position_.data(), offset, options_.episodes, half(), stream));
  return absl::OkStatus();
}

absl::Status SteppedAlgorithm::Piece(cudaStream_t stream) {
  const uint32_t rows = piece_rows_;
  const uint32_t width = weights_.target.layout.matrices[0].inputs;
  const uint64_t* position = position_.data();
  const uint64_t* first_row = position + kRowPosition;
  const bool is_double = options_.settings.double_dqn;
  const bool curious = options_.settings.curiosity_max > 0.0f;
  const uint32_t embedding = options_.architecture.embedding();
  const LiveWeights& curiosity = weights_.curiosity;
  const float* curiosity_bias = nullptr;
  if (curious) {
    const BiasLayout at = BiasesOf(options_.architecture, WeightsKind::kCuriosity);
    const float* biases = curiosity.at<float>(curiosity.layout.biases);
    const auto& m = curiosity.layout.matrices;
    curiosity_bias = biases + at.layer1;
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueCuriosityInputs(arguments_, market_, position, rows,
                                                      embedding, m[0].inputs, half(), input_.data(),
                                                      stream));
    VIXEN_RETURN_IF_ERROR(
        Multiply(curiosity, 0, input_.data(), m[0].inputs, rows, product_.data()));
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueActivation(arguments_, first_row, product_.data(),
                                                 biases + at.layer0, rows, m[0].outputs, half(),
                                                 activation_.data(), stream));
    VIXEN_RETURN_IF_ERROR(
        Multiply(curiosity, 1, activation_.data(), m[1].inputs, rows, curiosity_out_.data()));
  }
  const auto network = [&](const LiveWeights& weights) -> absl::Status {
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueNextStates(arguments_, market_, position, rows, width, half(),
                                                 input_.data(), stream));
    return Network(weights, rows, first_row, stream);
  };
  if (is_double) {
    VIXEN_RETURN_IF_ERROR(network(weights_.online));
    const HeadInputs head =
        HeadOf(weights_.online, options_.architecture, activation_.data(), product_.data());
    VIXEN_CUDA_RETURN_IF_ERROR(
        EnqueueChoice(arguments_, head, rows, half(), choice_.data(), stream));
  }
  VIXEN_RETURN_IF_ERROR(network(weights_.target));
  const HeadInputs head =
      HeadOf(weights_.target, options_.architecture, activation_.data(), product_.data());
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueFinish(
      arguments_, market_, head, position, is_double ? choice_.data() : nullptr,
      curious ? curiosity_out_.data() : nullptr, curiosity_bias, embedding, rows, half(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueAdvance(position_.data(), kRowPosition, rows, stream));
  return absl::OkStatus();
}

template <typename Enqueue>
absl::Status SteppedAlgorithm::Capture(cudaStream_t stream, const Enqueue& enqueue,
                                       GraphExec& graph) {
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const absl::Status status = enqueue();
  cudaGraph_t captured = nullptr;
  const cudaError_t error = cudaStreamEndCapture(stream, &captured);
  absl::Status result = status;
  if (result.ok()) result = CudaStatus(error, "cudaStreamEndCapture");
  if (result.ok()) {
    result = CudaStatus(cudaGraphInstantiate(graph.receive(), captured, 0), "cudaGraphInstantiate");
  }
  if (captured != nullptr) cudaGraphDestroy(captured);
  return result;
}

absl::Status SteppedAlgorithm::Prepare(const CollectorOptions& options, Precision precision,
                                       const LivePolicy& weights, const LaunchArguments* arguments,
                                       const DeviceMarket& market, cudaStream_t stream) {
  options_ = options;
  precision_ = precision;
  weights_ = weights;
  arguments_ = arguments;
  market_ = market;
  const uint64_t rows = uint64_t{options.episodes} * options.steps;
  piece_rows_ = static_cast<uint32_t>(std::min<uint64_t>(rows, kMostPieceRows));
  graph_steps_ = std::min(options.steps, kMostGraphSteps);
  buffer_rows_ = std::max(piece_rows_, options.episodes);

  const Architecture& a = options.architecture;
  const uint32_t streams = a.value_hidden + a.advantage_hidden;
  const size_t widest = std::max({a.state() + 8, a.hidden1, a.hidden2, streams, 48u});
  const size_t count = buffer_rows_ * widest;
  VIXEN_RETURN_IF_ERROR(cublas_workspace_.Allocate(kCublasWorkspaceBytes));
  VIXEN_RETURN_IF_ERROR(input_.Allocate(half() ? (count + 1) / 2 : count));
  VIXEN_RETURN_IF_ERROR(activation_.Allocate(half() ? (count + 1) / 2 : count));
  VIXEN_RETURN_IF_ERROR(product_.Allocate(count));
  VIXEN_RETURN_IF_ERROR(curiosity_out_.Allocate(size_t{piece_rows_} * 32));
  VIXEN_RETURN_IF_ERROR(choice_.Allocate(piece_rows_));
  VIXEN_RETURN_IF_ERROR(position_.Allocate(2));
  // Rows of a last, shorter piece keep what an earlier one left: it must never be a NaN pattern
  // that slows a product down, nor uninitialised.
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(input_.data(), 0, input_.bytes(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(position_.data(), 0, position_.bytes(), stream));
  VIXEN_ASSIGN_OR_RETURN(api_, LoadCublas());
  VIXEN_CUBLAS_RETURN_IF_ERROR(api_->create(&cublas_));
  VIXEN_CUBLAS_RETURN_IF_ERROR(api_->set_stream(cublas_, stream));
  VIXEN_CUBLAS_RETURN_IF_ERROR(
      api_->set_workspace(cublas_, cublas_workspace_.data(), kCublasWorkspaceBytes));
  if (precision == Precision::kFp32) {
    VIXEN_CUBLAS_RETURN_IF_ERROR(api_->set_math_mode(cublas_, CUBLAS_PEDANTIC_MATH));
  }

  const auto steps = [&](uint32_t n) -> absl::Status {
    for (uint32_t i = 0; i < n; ++i) VIXEN_RETURN_IF_ERROR(Step(i, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueAdvance(position_.data(), kStepPosition, n, stream));
    return absl::OkStatus();
  };
  VIXEN_RETURN_IF_ERROR(Capture(
      stream, [&] { return steps(graph_steps_); }, steps_graph_));
  const uint32_t rest = options.steps % graph_steps_;
  if (rest > 0)
    VIXEN_RETURN_IF_ERROR(Capture(
        stream, [&] { return steps(rest); }, rest_graph_));
  VIXEN_RETURN_IF_ERROR(Capture(
      stream, [&] { return Piece(stream); }, piece_graph_));
  return absl::OkStatus();
}

absl::Status SteppedAlgorithm::EnqueueSequence(cudaStream_t stream) {
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueAdvance(position_.data(), kStepPosition, 0, stream));
  for (uint32_t step = 0; step + graph_steps_ <= options_.steps; step += graph_steps_) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(steps_graph_.get(), stream));
  }
  if (rest_graph_.get() != nullptr) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(rest_graph_.get(), stream));
  }
  return absl::OkStatus();
}

absl::Status SteppedAlgorithm::EnqueueBatch(cudaStream_t stream) {
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueAdvance(position_.data(), kRowPosition, 0, stream));
  const uint64_t rows = uint64_t{options_.episodes} * options_.steps;
  for (uint64_t row = 0; row < rows; row += piece_rows_) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(piece_graph_.get(), stream));
  }
  return absl::OkStatus();
}

size_t SteppedAlgorithm::workspace_bytes() const {
  return cublas_workspace_.bytes() + input_.bytes() + activation_.bytes() + product_.bytes() +
         curiosity_out_.bytes() + choice_.bytes() + position_.bytes();
}

}  // namespace vixen::kernels
