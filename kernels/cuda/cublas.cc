// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublas.h"

#include <dlfcn.h>

#include <string>

#include "base/str_cat.h"

namespace vixen::kernels {
namespace {

// The ABI that the headers of this build describe.
const std::string& LibraryName() {
  static const std::string name = base::StrCat("libcublas.so.", CUBLAS_VER_MAJOR);
  return name;
}

absl::StatusOr<Cublas> Load() {
  // It stays loaded, as handles of it may live until the process ends.
  void* library = dlopen(LibraryName().c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(base::StrCat(LibraryName(), " cannot be loaded (", dlerror(),
                                               "): install cuBLAS of CUDA ", CUBLAS_VER_MAJOR,
                                               ", or put its folder on LD_LIBRARY_PATH"));
  }
  Cublas api;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(api.create, "cublasCreate_v2");
  find(api.destroy, "cublasDestroy_v2");
  find(api.set_stream, "cublasSetStream_v2");
  find(api.set_workspace, "cublasSetWorkspace_v2");
  find(api.set_math_mode, "cublasSetMathMode");
  find(api.gemm, "cublasGemmEx");
  find(api.status_text, "cublasGetStatusString");
  if (missing != nullptr) {
    return absl::UnavailableError(base::StrCat(LibraryName(), " has no ", missing));
  }
  return api;
}

const absl::StatusOr<Cublas>& Loaded() {
  static const absl::StatusOr<Cublas> loaded = Load();
  return loaded;
}

}  // namespace

absl::StatusOr<const Cublas*> LoadCublas() {
  if (!Loaded().ok()) return Loaded().status();
  return &*Loaded();
}

absl::Status CublasStatus(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      base::StrCat(call, ": ", Loaded().ok() ? Loaded()->status_text(status) : "no cuBLAS"));
}

}  // namespace vixen::kernels
