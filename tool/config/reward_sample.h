// SPDX-License-Identifier: Apache-2.0
// What a configuration's rules make of real bars, before anything is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/batch/statistics.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {

// Two policies that know nothing, on the bars that training would use, with CPU launches of at most
// 65,536 rows until each has about 50,000: `random` draws every action anew (many trades),
// `untrained` is greedy on a fresh network (mostly the same action: diversity and long holdings
// show). What a trained policy will see lies between them as a rule.
struct RewardSample {
  kernels::LaunchStatistics random;
  kernels::LaunchStatistics untrained;
  std::string bars;  // "bars 0:8,000 of 10,000"
};

// `environment` is effective and without faults. About a second. Errors: those of Dataset::Load,
// and of a range that the dataset does not have.
absl::StatusOr<RewardSample> SampleRewards(const std::string& data,
                                           const v1::EnvironmentSettings& environment);

// The shares of the reward's variance by term as a table, and the barriers' shares of the rows.
std::string SampleText(const RewardSample& sample);

// What will probably go wrong, a sentence each with the settings to change: profit is not the
// largest share, barriers that are never reached or reached at once.
std::vector<std::string> SampleWarnings(const RewardSample& sample,
                                        const v1::EnvironmentSettings& environment);

}  // namespace vixen::tool
