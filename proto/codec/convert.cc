// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/convert.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::codec {
namespace {

template <typename Field, typename T, size_t n>
absl::Status TakeList(const Field& field, std::string_view name, T (&values)[n]) {
  if (static_cast<size_t>(field.size()) != n) {
    return absl::InvalidArgumentError(
        base::StrCat("statistics.", name, " has ", field.size(), " values, ", n, " are needed"));
  }
  for (size_t i = 0; i < n; ++i) values[i] = field[static_cast<int>(i)];
  return absl::OkStatus();
}

absl::Status CheckFinite(double value, std::string_view name) {
  if (std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat("statistics.", name, " is ", value));
}

}  // namespace

v1::LaunchStatistics ToProto(const kernels::LaunchStatistics& statistics) {
  v1::LaunchStatistics message;
  message.mutable_term_sum()->Add(std::begin(statistics.term_sum), std::end(statistics.term_sum));
  message.mutable_term_sum_squares()->Add(std::begin(statistics.term_sum_squares),
                                          std::end(statistics.term_sum_squares));
  message.set_valid_rows(statistics.valid_rows);
  message.set_explored(statistics.explored);
  message.mutable_exposure_class()->Add(std::begin(statistics.exposure_class),
                                        std::end(statistics.exposure_class));
  message.mutable_barrier_result()->Add(std::begin(statistics.barrier_result),
                                        std::end(statistics.barrier_result));
  message.set_terminated(statistics.terminated);
  message.set_truncated(statistics.truncated);
  message.set_episodes_ended(statistics.episodes_ended);
  message.set_episode_reward_sum(statistics.episode_reward_sum);
  message.set_episode_reward_sum_squares(statistics.episode_reward_sum_squares);
  message.set_episode_return_sum(statistics.episode_return_sum);
  message.set_episode_return_sum_squares(statistics.episode_return_sum_squares);
  message.set_episode_length_sum(statistics.episode_length_sum);
  message.set_trades(statistics.trades);
  message.set_traded_notional(statistics.traded_notional);
  message.set_costs(statistics.costs);
  message.set_td_sum(statistics.td_sum);
  message.set_td_max(statistics.td_max);
  message.set_clamped_activations(statistics.clamped_activations);
  return message;
}

absl::StatusOr<kernels::LaunchStatistics> FromProto(const v1::LaunchStatistics& message) {
  kernels::LaunchStatistics statistics;
  VIXEN_RETURN_IF_ERROR(TakeList(message.term_sum(), "term_sum", statistics.term_sum));
  VIXEN_RETURN_IF_ERROR(
      TakeList(message.term_sum_squares(), "term_sum_squares", statistics.term_sum_squares));
  VIXEN_RETURN_IF_ERROR(
      TakeList(message.exposure_class(), "exposure_class", statistics.exposure_class));
  VIXEN_RETURN_IF_ERROR(
      TakeList(message.barrier_result(), "barrier_result", statistics.barrier_result));
  for (double value : statistics.term_sum) VIXEN_RETURN_IF_ERROR(CheckFinite(value, "term_sum"));
  for (double value : statistics.term_sum_squares) {
    VIXEN_RETURN_IF_ERROR(CheckFinite(value, "term_sum_squares"));
  }
  statistics.valid_rows = message.valid_rows();
  statistics.explored = message.explored();
  statistics.terminated = message.terminated();
  statistics.truncated = message.truncated();
  statistics.episodes_ended = message.episodes_ended();
  statistics.episode_reward_sum = message.episode_reward_sum();
  statistics.episode_reward_sum_squares = message.episode_reward_sum_squares();
  statistics.episode_return_sum = message.episode_return_sum();
  statistics.episode_return_sum_squares = message.episode_return_sum_squares();
  statistics.episode_length_sum = message.episode_length_sum();
  statistics.trades = message.trades();
  statistics.traded_notional = message.traded_notional();
  statistics.costs = message.costs();
  statistics.td_sum = message.td_sum();
  statistics.td_max = message.td_max();
  statistics.clamped_activations = message.clamped_activations();
  VIXEN_RETURN_IF_ERROR(CheckFinite(statistics.episode_reward_sum, "episode_reward_sum"));
  VIXEN_RETURN_IF_ERROR(CheckFinite(statistics.episode_return_sum, "episode_return_sum"));
  VIXEN_RETURN_IF_ERROR(CheckFinite(statistics.traded_notional, "traded_notional"));
  VIXEN_RETURN_IF_ERROR(CheckFinite(statistics.costs, "costs"));
  VIXEN_RETURN_IF_ERROR(CheckFinite(statistics.td_sum, "td_sum"));
  VIXEN_RETURN_IF_ERROR(CheckFinite(statistics.td_max, "td_max"));
  return statistics;
}

v1::Architecture ToProto(const kernels::Architecture& architecture) {
  v1::Architecture message;
  message.set_features(architecture.features);
  message.set_hidden1(architecture.hidden1);
  message.set_hidden2(architecture.hidden2);
  message.set_value_hidden(architecture.value_hidden);
  message.set_advantage_hidden(architecture.advantage_hidden);
  message.set_curiosity_hidden(architecture.curiosity_hidden);
  return message;
}

kernels::Architecture FromProto(const v1::Architecture& message) {
  kernels::Architecture architecture;
  architecture.features = message.features();
  architecture.hidden1 = message.hidden1();
  architecture.hidden2 = message.hidden2();
  architecture.value_hidden = message.value_hidden();
  architecture.advantage_hidden = message.advantage_hidden();
  architecture.curiosity_hidden = message.curiosity_hidden();
  return architecture;
}

v1::ElementType ToProto(kernels::ElementType type) {
  switch (type) {
    case kernels::ElementType::kU8:
      return v1::ELEMENT_TYPE_U8;
    case kernels::ElementType::kU32:
      return v1::ELEMENT_TYPE_U32;
    case kernels::ElementType::kF32:
      return v1::ELEMENT_TYPE_F32;
    case kernels::ElementType::kF16:
      return v1::ELEMENT_TYPE_F16;
  }
  return v1::ELEMENT_TYPE_UNSPECIFIED;
}

absl::StatusOr<kernels::ElementType> FromProto(v1::ElementType type) {
  switch (type) {
    case v1::ELEMENT_TYPE_U8:
      return kernels::ElementType::kU8;
    case v1::ELEMENT_TYPE_U32:
      return kernels::ElementType::kU32;
    case v1::ELEMENT_TYPE_F32:
      return kernels::ElementType::kF32;
    case v1::ELEMENT_TYPE_F16:
      return kernels::ElementType::kF16;
    default:
      return absl::InvalidArgumentError(base::StrCat("unknown element type ", int{type}));
  }
}

v1::Precision ToProto(kernels::Precision precision) {
  switch (precision) {
    case kernels::Precision::kAuto:
      return v1::PRECISION_UNSPECIFIED;
    case kernels::Precision::kFp32:
      return v1::PRECISION_FP32;
    case kernels::Precision::kTf32:
      return v1::PRECISION_TF32;
    case kernels::Precision::kFp16:
      return v1::PRECISION_FP16;
  }
  return v1::PRECISION_UNSPECIFIED;
}

absl::StatusOr<kernels::Precision> FromProto(v1::Precision precision) {
  switch (precision) {
    case v1::PRECISION_FP32:
      return kernels::Precision::kFp32;
    case v1::PRECISION_TF32:
      return kernels::Precision::kTf32;
    case v1::PRECISION_FP16:
      return kernels::Precision::kFp16;
    default:
      return absl::InvalidArgumentError(base::StrCat("unknown precision ", int{precision}));
  }
}

v1::WeightsKind ToProto(kernels::WeightsKind kind) {
  switch (kind) {
    case kernels::WeightsKind::kOnline:
      return v1::WEIGHTS_KIND_ONLINE;
    case kernels::WeightsKind::kTarget:
      return v1::WEIGHTS_KIND_TARGET;
    case kernels::WeightsKind::kCuriosity:
      return v1::WEIGHTS_KIND_CURIOSITY;
  }
  return v1::WEIGHTS_KIND_UNSPECIFIED;
}

absl::StatusOr<kernels::WeightsKind> FromProto(v1::WeightsKind kind) {
  switch (kind) {
    case v1::WEIGHTS_KIND_ONLINE:
      return kernels::WeightsKind::kOnline;
    case v1::WEIGHTS_KIND_TARGET:
      return kernels::WeightsKind::kTarget;
    case v1::WEIGHTS_KIND_CURIOSITY:
      return kernels::WeightsKind::kCuriosity;
    default:
      return absl::InvalidArgumentError(
          base::StrCat("weights kind ", int{kind}, " is none of online, target, curiosity"));
  }
}

}  // namespace vixen::codec
