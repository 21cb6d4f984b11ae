// SPDX-License-Identifier: Apache-2.0
#include "market/npy/archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace vixen::market::npy {
namespace {

constexpr uint32_t kEnd = 0x06054B50, kMember = 0x02014B50, kLocal = 0x04034B50;
constexpr uint32_t kZip64EndPlace = 0x07064B50, kZip64End = 0x06064B50;
constexpr size_t kEndBytes = 22, kMemberBytes = 46, kLocalBytes = 30;
constexpr uint64_t kMostUnfolding = 1100;  // what deflate can do at best, about

template <typename T>
T Load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Member {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, offset = 0;
};

// A zip file in memory. Every place and size is checked before it is used.
class Archive {
 public:
  Archive(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  absl::StatusOr<std::vector<Member>> Members() const {
    uint64_t count = 0, at = 0;
    VIXEN_RETURN_IF_ERROR(FindDirectory(count, at));
    std::vector<Member> members;
    for (uint64_t i = 0; i < count; ++i) {
      if (!Holds(at, kMemberBytes) || Load<uint32_t>(bytes_, at) != kMember) {
        return Fault(absl::StrCat("entry ", i, " of its directory is damaged"));
      }
      const uint64_t name_size = Load<uint16_t>(bytes_, at + 28);
      const uint64_t extra_size = Load<uint16_t>(bytes_, at + 30);
      const uint64_t size = kMemberBytes + name_size + extra_size + Load<uint16_t>(bytes_, at + 32);
      if (!Holds(at, size)) return Fault(absl::StrCat("entry ", i, " of its directory is cut"));
      Member member{std::string(bytes_.substr(at + kMemberBytes, name_size)),
                    Load<uint16_t>(bytes_, at + 8),
                    Load<uint16_t>(bytes_, at + 10),
                    Load<uint32_t>(bytes_, at + 16),
                    Load<uint32_t>(bytes_, at + 20),
                    Load<uint32_t>(bytes_, at + 24),
                    Load<uint32_t>(bytes_, at + 42)};
      ReadZip64(bytes_.substr(at + kMemberBytes + name_size, extra_size), member);
      members.push_back(std::move(member));
      at += size;
    }
    return members;
  }

  absl::StatusOr<std::string> Unpack(const Member& member) const {
    const auto fault = [&](const std::string& text) {
      return absl::DataLossError(absl::StrCat(path_, ": ", member.name, " ", text));
    };
    if ((member.flags & 1) != 0) return fault("is encrypted");
    if (!Holds(member.offset, kLocalBytes) || Load<uint32_t>(bytes_, member.offset) != kLocal) {
      return fault("does not stand where the directory says");
    }
    const uint64_t begin = member.offset + kLocalBytes +
                           Load<uint16_t>(bytes_, member.offset + 26) +
                           Load<uint16_t>(bytes_, member.offset + 28);
    if (!Holds(begin, member.packed)) return fault("is cut");
    const std::string_view packed = bytes_.substr(begin, member.packed);
    std::string values;
    if (member.method == 0) {
      values = std::string(packed);
    } else if (member.method == Z_DEFLATED) {
      if (member.size / kMostUnfolding > member.packed) return fault("cannot unfold to its size");
      values.resize(member.size);
      if (!Inflate(packed, values)) return fault("is damaged");
    } else {
      return fault(absl::StrCat("is packed by method ", member.method,
                                ": np.savez and np.savez_compressed use others"));
    }
    if (values.size() != member.size) return fault("does not have its stated size");
    uLong crc = crc32(0, nullptr, 0);
    for (size_t at = 0; at < values.size(); at += 1u << 30) {
      const size_t size = std::min<size_t>(1u << 30, values.size() - at);
      crc = crc32(crc, reinterpret_cast<const Bytef*>(values.data() + at), static_cast<uInt>(size));
    }
    if (crc != member.crc) return fault("is damaged: its CRC-32 differs");
    return values;
  }

 private:
  bool Holds(uint64_t at, uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  absl::Status Fault(const std::string& text) const {
    return absl::DataLossError(absl::StrCat(path_, ": the archive is cut or damaged: ", text));
  }

  absl::Status FindDirectory(uint64_t& count, uint64_t& at) const {
    // The end record stands last, before a comment of up to 64 KiB.
    if (bytes_.size() < kEndBytes) return Fault("it has no directory");
    const uint64_t lowest =
        bytes_.size() - std::min<uint64_t>(bytes_.size(), kEndBytes + UINT16_MAX);
    uint64_t end = bytes_.size() - kEndBytes;
    while (Load<uint32_t>(bytes_, end) != kEnd) {
      if (end == lowest) return Fault("it has no directory");
      --end;
    }
    count = Load<uint16_t>(bytes_, end + 10);
    at = Load<uint32_t>(bytes_, end + 16);
    if (end < 20 || Load<uint32_t>(bytes_, end - 20) != kZip64EndPlace) return absl::OkStatus();
    const uint64_t place = Load<uint64_t>(bytes_, end - 20 + 8);
    if (!Holds(place, 56) || Load<uint32_t>(bytes_, place) != kZip64End) {
      return Fault("its 64-bit directory is not there");
    }
    count = Load<uint64_t>(bytes_, place + 32);
    at = Load<uint64_t>(bytes_, place + 48);
    return absl::OkStatus();
  }

  // Sizes and place that do not fit 32 bits stand in an extra field, in this order.
  static void ReadZip64(std::string_view extra, Member& member) {
    while (extra.size() >= 4) {
      const uint16_t kind = Load<uint16_t>(extra, 0);
      const size_t size = std::min<size_t>(Load<uint16_t>(extra, 2), extra.size() - 4);
      if (kind == 1) {
        size_t at = 4;
        for (uint64_t* value : {&member.size, &member.packed, &member.offset}) {
          if (*value != UINT32_MAX || at + 8 > 4 + size) continue;
          *value = Load<uint64_t>(extra, at);
          at += 8;
        }
      }
      extra.remove_prefix(4 + size);
    }
  }

  static bool Inflate(std::string_view packed, std::string& values) {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    constexpr size_t kPiece = 1u << 30;
    size_t in = 0, out = 0;
    int result = Z_OK;
    while (result == Z_OK) {
      const size_t give = std::min(kPiece, packed.size() - in);
      const size_t room = std::min(kPiece, values.size() - out);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
      stream.avail_in = static_cast<uInt>(give);
      stream.next_out = reinterpret_cast<Bytef*>(values.data() + out);
      stream.avail_out = static_cast<uInt>(room);
      result = inflate(&stream, Z_NO_FLUSH);
      in += give - stream.avail_in;
      out += room - stream.avail_out;
      if (give == stream.avail_in && room == stream.avail_out) break;
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && out == values.size();
  }

  std::string_view bytes_;
  const std::string& path_;
};

}  // namespace

absl::StatusOr<std::vector<Array>> ReadArrays(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(path));
  std::vector<Array> arrays;
  if (!bytes.starts_with("PK")) {
    VIXEN_ASSIGN_OR_RETURN(Array array, ParseArray(bytes, path));
    arrays.push_back(std::move(array));
    return arrays;
  }
  const Archive archive(bytes, path);
  VIXEN_ASSIGN_OR_RETURN(const std::vector<Member> members, archive.Members());
  uint64_t unfolded = 0;
  for (const Member& member : members) {
    // Members that share their bytes would fill the memory.
    unfolded += std::min<uint64_t>(member.size, UINT32_MAX * uint64_t{1024});
    if (unfolded / kMostUnfolding > bytes.size()) {
      return absl::DataLossError(
          absl::StrCat(path, ": its members cannot unfold to their stated sizes"));
    }
    VIXEN_ASSIGN_OR_RETURN(const std::string values, archive.Unpack(member));
    VIXEN_ASSIGN_OR_RETURN(Array array, ParseArray(values, absl::StrCat(path, ": ", member.name)));
    array.name =
        member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
    arrays.push_back(std::move(array));
  }
  if (arrays.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": an archive without arrays"));
  }
  return arrays;
}

}  // namespace vixen::market::npy
