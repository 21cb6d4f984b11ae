// SPDX-License-Identifier: Apache-2.0
// The input of targets that read a file, as one that has a path and no disk.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace vixen::fuzz {

// The path of the process's only such file, which holds the bytes until the next call.
inline const std::string& InputFile(const uint8_t* data, size_t size) {
  static const int kFile = memfd_create("input", MFD_CLOEXEC);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  // Written before it is cut: what is emptied first gets all of its pages anew.
  if (pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  if (ftruncate(kFile, static_cast<off_t>(size)) != 0) std::abort();
  return kPath;
}

}  // namespace vixen::fuzz
