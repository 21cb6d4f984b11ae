// SPDX-License-Identifier: Apache-2.0
#include "market/csv/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace vixen::market::csv {
namespace {

constexpr unsigned kInputBuffer = 256 << 10;

}  // namespace

void ByteSource::Closer::operator()(void* file) const { gzclose(static_cast<gzFile>(file)); }

absl::StatusOr<ByteSource> ByteSource::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return base::ErrnoToStatus(errno, "cannot open", path);
  struct stat about = {};
  const bool regular_file = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  const gzFile file = gzdopen(descriptor, "rb");
  if (file == nullptr) {
    close(descriptor);
    return absl::ResourceExhaustedError(absl::StrCat("cannot open ", path, ": out of memory"));
  }
  gzbuffer(file, kInputBuffer);
  return ByteSource(path, regular_file, file);
}

absl::StatusOr<size_t> ByteSource::Read(char* into, size_t size) {
  const gzFile file = static_cast<gzFile>(file_.get());
  const unsigned wanted = static_cast<unsigned>(std::min<size_t>(size, 1u << 30));
  const int got = gzread(file, into, wanted);
  if (got == static_cast<int>(wanted)) return static_cast<size_t>(got);
  int error = Z_OK;
  const char* reason = gzerror(file, &error);
  if (error == Z_ERRNO) return base::ErrnoToStatus(errno, "cannot read", path_);
  if (got < 0 || error == Z_BUF_ERROR) {
    return absl::DataLossError(
        absl::StrCat(path_, ": the gzip stream is damaged or cut off (", reason, ")"));
  }
  return static_cast<size_t>(got);
}

}  // namespace vixen::market::csv
