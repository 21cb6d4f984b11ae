// SPDX-License-Identifier: Apache-2.0
#include "learner/device/nccl_library.h"

#include <dlfcn.h>

#include <type_traits>

#include "absl/strings/str_cat.h"

namespace vixen::learner {
namespace {

// The ABI that the header of this build describes.
constexpr char kName[] = "libnccl.so.2";

absl::StatusOr<NcclLibrary> Load() {
  // It stays loaded: communicators may live until the process ends.
  void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(absl::StrCat(kName, " cannot be loaded (", dlerror(), ")"));
  }
  NcclLibrary api;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(api.get_version, "ncclGetVersion");
  find(api.get_unique_id, "ncclGetUniqueId");
  find(api.comm_init_rank, "ncclCommInitRank");
  find(api.comm_abort, "ncclCommAbort");
  find(api.comm_get_async_error, "ncclCommGetAsyncError");
  find(api.all_reduce, "ncclAllReduce");
  find(api.error_text, "ncclGetErrorString");
  find(api.last_error, "ncclGetLastError");
  if (missing != nullptr) return absl::UnavailableError(absl::StrCat(kName, " has no ", missing));
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
