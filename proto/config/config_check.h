// SPDX-License-Identifier: Apache-2.0
// What a configuration cannot be: values outside the range that config.proto gives them, and
// settings that contradict each other.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config/config_file.h"
#include "vixen/v1/config.pb.h"

namespace vixen::config {

// One reason why a configuration cannot work.
struct Fault {
  std::string setting;  // leaf name of the (first) culprit
  std::string message;  // names every setting concerned, its value and what is allowed
};

// All faults of a configuration message of config.proto (ActorConfig, LearnerConfig or any part of
// them), judged with presets and defaults filled in; single values first, in order of declaration.
std::vector<Fault> FindFaults(const google::protobuf::Message& config);

// "actor.textproto:3:5: steps is 0, allowed: 1 … 65536".
std::string FaultText(const Fault& fault, const Origins& origins);

// The first fault as a usage error, with how many more there are.
absl::Status CheckConfig(const google::protobuf::Message& config, const Origins& origins = {});

// [A-Za-z0-9._-]{1,64}: what names a policy, group or consumer.
bool IsName(const std::string& text);

// The least limiter_window with which the learner can run: samples_per_insert·N·L of one launch
// plus batch_size·(prefetch + 1) drawn ahead. Below it the limiter would wait for ever.
double LeastLimiterWindow(double samples_per_insert, uint64_t rows_a_launch, uint32_t batch_size,
                          uint32_t prefetch);

// The window to use: as configured, or for 0 the least that works with two launches in flight.
// Usage error naming limiter_window, its value and the least one when that is more.
absl::StatusOr<double> LimiterWindow(const v1::LimiterSettings& limiter, uint64_t rows_a_launch,
                                     uint32_t batch_size, uint32_t prefetch);

}  // namespace vixen::config
