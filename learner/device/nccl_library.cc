// SPDX-License-Identifier: Apache-2.0
#include "learner/device/nccl_library.h"

#include "absl/strings/str_cat.h"
#include "base/shared_library.h"
#include "base/status_macros.h"

namespace vixen::learner {
namespace {

// The ABI that the header of this build describes.
constexpr char kName[] = "libnccl.so.2";

absl::StatusOr<NcclLibrary> Load() {
  VIXEN_ASSIGN_OR_RETURN(base::SharedLibrary library, base::SharedLibrary::Open(kName));
  NcclLibrary api;
  library.Find("ncclGetVersion", api.get_version);
  library.Find("ncclGetUniqueId", api.get_unique_id);
  library.Find("ncclCommInitRank", api.comm_init_rank);
  library.Find("ncclCommAbort", api.comm_abort);
  library.Find("ncclCommGetAsyncError", api.comm_get_async_error);
  library.Find("ncclAllReduce", api.all_reduce);
  library.Find("ncclGetErrorString", api.error_text);
  library.Find("ncclGetLastError", api.last_error);
  VIXEN_RETURN_IF_ERROR(library.FoundAll());
  int version = 0;
  if (api.get_version(&version) != ncclSuccess) {
    return absl::UnavailableError(absl::StrCat(kName, " does not say its version"));
  }
  api.version = absl::StrCat(version / 10'000, ".", version % 10'000 / 100, ".", version % 100);
  return api;
}

const absl::StatusOr<NcclLibrary>& Loaded() {
  static const absl::StatusOr<NcclLibrary> loaded = Load();
  return loaded;
}

}  // namespace

absl::Status NcclLibrary::StatusOf(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess) return absl::OkStatus();
  const char* const more = last_error(nullptr);
  return absl::UnavailableError(absl::StrCat("NCCL: ", call, ": ", error_text(result),
                                             more == nullptr || *more == '\0' ? "" : "; ",
                                             more == nullptr ? "" : more));
}

absl::StatusOr<const NcclLibrary*> LoadNccl() {
  if (!Loaded().ok()) return Loaded().status();
  return &*Loaded();
}

}  // namespace vixen::learner
