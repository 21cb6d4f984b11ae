// SPDX-License-Identifier: Apache-2.0
#include "base/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace vixen::base {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::UnavailableError(absl::StrCat(name, " cannot be loaded (", dlerror(), ")"));
  }
  return SharedLibrary(name, handle);
}

absl::Status SharedLibrary::FoundAll() const {
  if (missing_.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(name_, " has no ", missing_));
}

void* SharedLibrary::Address(const char* symbol) {
  void* const address = dlsym(handle_, symbol);
  if (address == nullptr && missing_.empty()) missing_ = symbol;
  return address;
}

}  // namespace vixen::base
