// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

namespace vixen::config {

// Sets every setting that is not set to what it means: of EnvironmentSettings first the preset's
// value, then the default of config.proto; of a repeated field the `defaults` listed there;
// `actions` to all
// 45. Applying it twice changes nothing.
void FillDefaults(google::protobuf::Message& config);

}  // namespace vixen::config
