// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublas.h"

#include <string>

#include "base/shared_library.h"
#include "base/str_cat.h"

namespace vixen::kernels {
namespace {

// The ABI that the headers of this build describe.
const std::string& LibraryName() {
  static const std::string name = base::StrCat("libcublas.so.", CUBLAS_VER_MAJOR);
  return name;
}

absl::StatusOr<Cublas> Load() {
  absl::StatusOr<base::SharedLibrary> library = base::SharedLibrary::Open(LibraryName());
  if (!library.ok()) {
    return absl::UnavailableError(base::StrCat(library.status().message(),
                                               ": install cuBLAS of CUDA ", CUBLAS_VER_MAJOR,
                                               ", or put its folder on LD_LIBRARY_PATH"));
  }
  Cublas api;
  library->Find("cublasCreate_v2", api.create);
  library->Find("cublasDestroy_v2", api.destroy);
  library->Find("cublasSetStream_v2", api.set_stream);
  library->Find("cublasSetWorkspace_v2", api.set_workspace);
  library->Find("cublasSetMathMode", api.set_math_mode);
  library->Find("cublasGemmEx", api.gemm);
  library->Find("cublasGetStatusString", api.status_text);
  if (absl::Status status = library->FoundAll(); !status.ok()) return status;
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
