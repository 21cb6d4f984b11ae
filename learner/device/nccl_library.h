// SPDX-License-Identifier: Apache-2.0
// NCCL, opened at run time: 200 MB that only several learners with GPUs need.
#pragma once

#include <nccl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::learner {

struct NcclLibrary {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGetErrorString) error_text = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;

  std::string version;  // "2.28.9"

  // UNAVAILABLE naming the call and the library's words.
  absl::Status StatusOf(ncclResult_t result, const char* call) const;
};

// Loaded once a process. UNAVAILABLE naming the library, or what it lacks.
absl::StatusOr<const NcclLibrary*> LoadNccl();

}  // namespace vixen::learner
