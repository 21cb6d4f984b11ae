// SPDX-License-Identifier: Apache-2.0
#include "proto/config/settings.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstring>

#include "base/str_cat.h"
#include "proto/config/config_check.h"
#include "proto/config/effective.h"
#include "proto/config/leaf.h"

namespace vixen::config {
namespace {

using base::StrCat;

absl::Status CheckComplete(const v1::EnvironmentSettings& settings, std::string_view source) {
  const auto& unknown = settings.GetReflection()->GetUnknownFields(settings);
  if (!unknown.empty()) {
    return absl::InvalidArgumentError(StrCat(source, ": settings hold field ",
                                             unknown.field(0).number(),
                                             ", unknown to this version: update this program"));
  }
  for (const Leaf& leaf : LeavesOf(*settings.GetDescriptor())) {
    if (CountOf(settings, *leaf.field) == 0) {
      return absl::InvalidArgumentError(
          StrCat(source, ": settings lack ", leaf.name(), ": not the effective settings of a run"));
    }
  }
  return absl::OkStatus();
}

// Copies as many as there is room for, zeroes the rest; returns how many were copied.
template <typename To, size_t kRoom, typename From>
size_t CopyInto(To (&to)[kRoom], const google::protobuf::RepeatedField<From>& from) {
  size_t copied = 0;
  for (size_t i = 0; i < kRoom; ++i) {
    const bool given = i < static_cast<size_t>(from.size());
    to[i] = given ? static_cast<To>(from[static_cast<int>(i)]) : To{};
    copied += given;
  }
  return copied;
}

}  // namespace

v1::EnvironmentSettings EffectiveEnvironment(const v1::EnvironmentSettings& settings) {
  v1::EnvironmentSettings effective = settings;
  FillDefaults(effective);
  return effective;
}

std::string SettingsBytes(const v1::EnvironmentSettings& settings) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  EffectiveEnvironment(settings).SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

absl::StatusOr<v1::EnvironmentSettings> ParseSettingsBytes(std::string_view bytes,
                                                           std::string_view source) {
  v1::EnvironmentSettings settings;
  if (!settings.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(StrCat(source, ": settings: ", bytes.size(),
                                             " bytes that are no EnvironmentSettings message"));
  }
  if (absl::Status status = CheckComplete(settings, source); !status.ok()) return status;
  if (const std::vector<Fault> faults = FindFaults(settings); !faults.empty()) {
    return absl::InvalidArgumentError(StrCat(source, ": settings: ", faults.front().message));
  }
  return settings;
}

kernels::EnvSettings ToEnvSettings(const v1::EnvironmentSettings& given) {
  const v1::EnvironmentSettings from = EffectiveEnvironment(given);
  kernels::EnvSettings to;
  to.initial_capital = from.initial_capital();
  to.reserve = from.reserve();
  to.spread = from.spread();
  to.rebalance_band = from.rebalance_band();
  to.borrow_bps = from.borrow_bps();
  to.profit_target_bps = from.profit_target_bps();
  to.stop_loss_bps = from.stop_loss_bps();
  to.max_holding_bars = static_cast<int32_t>(from.max_holding_bars());
  to.min_equity = from.min_equity();
  to.max_episode_steps = static_cast<int32_t>(from.max_episode_steps());
  to.gamma = from.gamma();
  to.pnl_scale = from.pnl_scale();
  to.barrier_bonus = from.barrier_bonus();
  to.risk_threshold = from.risk_threshold();
  to.risk_scale = from.risk_scale();
  to.diversity_min_entropy = from.diversity_min_entropy();
  to.diversity_penalty = from.diversity_penalty();
  to.curiosity_max = from.curiosity_max();
  to.on_barrier = from.on_barrier() == v1::EnvironmentSettings::RELABEL
                      ? kernels::OnBarrier::kRelabel
                      : kernels::OnBarrier::kTerminate;
  to.barrier_shaping = from.barrier_shaping() == v1::EnvironmentSettings::ALIGNED
                           ? kernels::BarrierShaping::kAligned
                           : kernels::BarrierShaping::kProduct;
  to.recycle = from.recycle();
  to.carry_over = from.carry_over();
  to.double_dqn = from.double_dqn();
  CopyInto(to.cost_bps, from.cost_bps());
  CopyInto(to.fill, from.fill());
  to.action_count = static_cast<uint8_t>(CopyInto(to.actions, from.actions()));
  return to;
}

kernels::Architecture ToArchitecture(const v1::NetworkSettings& network, uint32_t features) {
  kernels::Architecture architecture;
  architecture.features = features;
  architecture.hidden1 = network.hidden1();
  architecture.hidden2 = network.hidden2();
  architecture.value_hidden = network.value_hidden();
  architecture.advantage_hidden = network.advantage_hidden();
  architecture.curiosity_hidden = network.curiosity_hidden();
  return architecture;
}

kernels::Precision ToPrecision(v1::PrecisionSetting precision) {
  switch (precision) {
    case v1::FP32:
      return kernels::Precision::kFp32;
    case v1::TF32:
      return kernels::Precision::kTf32;
    case v1::FP16:
      return kernels::Precision::kFp16;
    case v1::AUTO:
      break;
  }
  return kernels::Precision::kAuto;
}

uint64_t RunSeed(const v1::ExecutorSettings& execution, uint64_t run_id, std::string_view policy) {
  if (execution.exact_seed()) return execution.seed();
  base::Sha256 hash;
  hash.UpdateValue<uint64_t>(execution.seed());
  hash.UpdateValue<uint64_t>(run_id);
  hash.Update(policy);
  const base::Sha256Digest digest = hash.Finish();
  uint64_t seed;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return seed;
}

}  // namespace vixen::config
