// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/input.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace vixen::market::dbn {
namespace {

constexpr size_t kPiece = 256 << 10;
// Bars pack four- to tenfold. What unfolds a thousandfold is made to fill the memory.
constexpr uint64_t kMostUnfolding = 1000;
constexpr uint64_t kUnfoldingFrom = 64 << 20;

std::string HexOf(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    if (i > 0) text += ' ';
    absl::StrAppendFormat(&text, "%02X", bytes[i]);
  }
  return text;
}

}  // namespace

struct Input::Zstd {
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream{ZSTD_createDStream()};
  std::unique_ptr<uint8_t[]> packed = std::make_unique_for_overwrite<uint8_t[]>(kPiece);
  ZSTD_inBuffer in{packed.get(), 0, 0};
  uint64_t file_offset = 0;   // of packed[0]
  uint64_t frame_offset = 0;  // where the current frame begins in the file
  uint64_t unfolded = 0;
  bool inside_frame = false;
  bool file_ended = false;
};

Input::Input(std::string path, int descriptor)
    : path_(std::move(path)),
      descriptor_(descriptor),
      window_(std::make_unique_for_overwrite<uint8_t[]>(kPiece)),
      window_size_(kPiece) {}

Input::Input(Input&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      zstd_(std::move(other.zstd_)),
      window_(std::move(other.window_)),
      window_size_(other.window_size_),
      begin_(other.begin_),
      end_(other.end_),
      offset_(other.offset_),
      at_end_(other.at_end_) {}

Input::~Input() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<Input> Input::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return base::ErrnoToStatus(errno, "cannot open", path);
  Input input(path, descriptor);
  VIXEN_RETURN_IF_ERROR(input.Start());
  return input;
}

absl::Status Input::Start() {
  uint8_t first[4];
  size_t got = 0;
  while (got < sizeof first) {
    VIXEN_ASSIGN_OR_RETURN(const size_t more, ReadRaw(first + got, sizeof first - got));
    if (more == 0) break;
    got += more;
  }
  const std::string_view start(reinterpret_cast<const char*>(first), got);
  constexpr std::string_view kZstandard("\x28\xB5\x2F\xFD", 4);
  if (start == kZstandard) {
    zstd_ = std::make_unique<Zstd>();
    if (zstd_->stream == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot read ", path_, ": out of memory"));
    }
    std::memcpy(zstd_->packed.get(), first, got);
    zstd_->in.size = got;
    return absl::OkStatus();
  }
  if (start.starts_with("DBN")) {
    std::memcpy(window_.get(), first, got);
    end_ = got;
    return absl::OkStatus();
  }
  if (got == 4 && (first[0] & 0xF0) == 0x50 && start.substr(1) == "\x2A\x4D\x18") {
    return absl::InvalidArgumentError(
        absl::StrCat(path_,
                     ": begins with a skippable Zstandard frame, as files of the format "
                     "before DBN (DBZ) do: convert it to DBN first"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ": begins with ", got == 0 ? "nothing" : HexOf(first, got),
      ", which is neither DBN (44 42 4E) nor Zstandard (28 B5 2F FD); a piece of a DBN file "
      "without its metadata cannot be read"));
}

absl::StatusOr<size_t> Input::ReadRaw(uint8_t* into, size_t size) {
  for (;;) {
    const ssize_t got = read(descriptor_, into, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return base::ErrnoToStatus(errno, "cannot read", path_);
  }
}

absl::StatusOr<size_t> Input::Decompress(uint8_t* into, size_t size) {
  Zstd& zstd = *zstd_;
  ZSTD_outBuffer out{into, size, 0};
  while (out.pos == 0) {
    if (zstd.in.pos == zstd.in.size && !zstd.file_ended) {
      zstd.file_offset += zstd.in.size;
      VIXEN_ASSIGN_OR_RETURN(zstd.in.size, ReadRaw(zstd.packed.get(), kPiece));
      zstd.in.pos = 0;
      zstd.file_ended = zstd.in.size == 0;
    }
    if (!zstd.inside_frame) {
      if (zstd.in.pos == zstd.in.size) return 0;
      zstd.frame_offset = zstd.file_offset + zstd.in.pos;
      zstd.inside_frame = true;
    }
    const size_t before = zstd.in.pos;
    const size_t left = ZSTD_decompressStream(zstd.stream.get(), &out, &zstd.in);
    if (ZSTD_isError(left)) {
      return absl::DataLossError(absl::StrCat(path_, ": the Zstandard frame at offset ",
                                              zstd.frame_offset, " of the file is damaged (",
                                              ZSTD_getErrorName(left), ")"));
    }
    if (left == 0) zstd.inside_frame = false;
    if (zstd.file_ended && left != 0 && out.pos == 0 && zstd.in.pos == before) {
      return absl::DataLossError(absl::StrCat(path_, ": the file ends at offset ", zstd.file_offset,
                                              " inside the Zstandard frame that begins at offset ",
                                              zstd.frame_offset));
    }
  }
  zstd.unfolded += out.pos;
  const uint64_t consumed = zstd.file_offset + zstd.in.pos;
  if (zstd.unfolded > kUnfoldingFrom && zstd.unfolded / kMostUnfolding > consumed) {
    return absl::ResourceExhaustedError(absl::StrCat(path_, ": ", consumed,
                                                     " bytes unfold to more than ", zstd.unfolded,
                                                     ": no file of bars is packed so"));
  }
  return out.pos;
}

absl::Status Input::Refill() {
  if (begin_ > 0) {
    std::memmove(window_.get(), window_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (window_size_ - end_ < kPiece / 2) {
    auto wider = std::make_unique_for_overwrite<uint8_t[]>(2 * window_size_);
    std::memcpy(wider.get(), window_.get(), end_);
    window_ = std::move(wider);
    window_size_ *= 2;
  }
  uint8_t* into = window_.get() + end_;
  const size_t size = window_size_ - end_;
  VIXEN_ASSIGN_OR_RETURN(const size_t got,
                         zstd_ == nullptr ? ReadRaw(into, size) : Decompress(into, size));
  at_end_ = got == 0;
  end_ += got;
  return absl::OkStatus();
}

absl::Status Input::Need(size_t size) {
  while (available() < size && !at_end_) VIXEN_RETURN_IF_ERROR(Refill());
  return absl::OkStatus();
}

}  // namespace vixen::market::dbn
