// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::base {

// A library that is opened at run time, so that a program starts where it is not installed. It
// stays loaded until the process ends: drivers keep threads in theirs, and handles may live on.
class SharedLibrary {
 public:
  // UNAVAILABLE naming the library, with the loader's words; also where a function that it needs
  // of another library is missing.
  static absl::StatusOr<SharedLibrary> Open(const std::string& name);

  // Sets `function`, a pointer to a function, to the symbol `symbol`; null where there is none.
  template <typename Function>
  void Find(const char* symbol, Function& function) {
    static_assert(std::is_pointer_v<Function>);
    function = reinterpret_cast<Function>(Address(symbol));
  }

  // UNAVAILABLE naming the first symbol that was looked for and is not there.
  absl::Status FoundAll() const;

 private:
  SharedLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  void* Address(const char* symbol);

  std::string name_;
  void* handle_;
  std::string missing_;
};

}  // namespace vixen::base
