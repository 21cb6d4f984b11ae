// SPDX-License-Identifier: Apache-2.0
// The input of targets that read messages: a u16 of length before each one.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

namespace vixen::fuzz {

// protobuf speaks of every unreadable string on stderr.
inline const auto kProtobufIsQuiet = google::protobuf::SetLogHandler(nullptr);

class Messages {
 public:
  explicit Messages(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::optional<std::string> Next() {
    uint16_t length;
    if (bytes_.size() < sizeof(length)) return std::nullopt;
    std::memcpy(&length, bytes_.data(), sizeof(length));
    bytes_ = bytes_.subspan(sizeof(length));
    const size_t size = std::min<size_t>(length, bytes_.size());
    std::string message(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return message;
  }

 private:
  std::span<const uint8_t> bytes_;
};

// `message` in front of which Messages::Next finds its length. At most 65,535 bytes.
inline void AppendMessage(const std::string& message, std::string& input) {
  const auto length = static_cast<uint16_t>(message.size());
  input.append(reinterpret_cast<const char*>(&length), sizeof(length));
  input += message;
}

}  // namespace vixen::fuzz
