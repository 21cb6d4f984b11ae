// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <vector>

#include "proto/config/config_check.h"

namespace vixen::config {

// Appends the contradictions between settings of an effective configuration: of each message in it,
// and between messages of ActorConfig and LearnerConfig. Used by FindFaults.
void FindBadCombinations(const google::protobuf::Message& effective, std::vector<Fault>& faults);

}  // namespace vixen::config
