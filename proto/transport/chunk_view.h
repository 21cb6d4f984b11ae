// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vixen::transport {

using Bytes = std::span<const std::byte>;

// CollectResponse.chunk where it lies: the pieces of `data` in order, none of them empty.
struct ChunkView {
  uint64_t offset = 0;
  std::vector<Bytes> data;
};

// The chunk of a CollectResponse whose bytes are `message`, one piece after another. nullopt for
// everything that is not exactly one chunk with its fields in order (what the actor sends):
// protobuf reads those.
std::optional<ChunkView> ViewChunk(std::span<const Bytes> message);

// What stands in front of `size` bytes of data in such a message, so that the data itself is sent
// from where it lies. A stock protobuf client reads the whole as any other message.
std::string ChunkHead(uint64_t offset, uint32_t size);

}  // namespace vixen::transport
