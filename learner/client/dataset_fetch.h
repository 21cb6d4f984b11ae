// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "learner/client/backoff.h"
#include "market/dataset.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::learner {

// The dataset of `path`, refused with FAILED_PRECONDITION naming both fingerprints unless it is the
// actor's.
absl::StatusOr<std::shared_ptr<const market::Dataset>> LoadMatchingDataset(
    const std::string& path, const v1::DatasetInfo& actor);

// The actor's dataset from the cache folder, fetched first when it is not there. A broken transfer
// goes on where it stopped, also in a later process; the file appears under its name only after its
// fingerprint was verified. Tries again on transient errors until `stop`.
absl::StatusOr<std::shared_ptr<const market::Dataset>> FetchDataset(v1::Actor::Stub& actor,
                                                                    const v1::DatasetInfo& info,
                                                                    const std::string& cache_folder,
                                                                    StopFlag& stop);

// $XDG_CACHE_HOME/vixen, else ~/.cache/vixen.
std::string DefaultCacheFolder();

}  // namespace vixen::learner
