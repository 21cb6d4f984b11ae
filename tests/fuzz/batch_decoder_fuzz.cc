// SPDX-License-Identifier: Apache-2.0
// A hostile actor: the input is a sequence of length-prefixed CollectResponse messages.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "proto/codec/batch_decoder.h"
#include "vixen/v1/actor.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::optional<vixen::codec::BatchDecoder> decoder;
  vixen::v1::Encoding encoding;
  if (size > 0) {
    encoding.set_terms((data[0] & 1) != 0);
    encoding.set_state((data[0] & 2) != 0);
    encoding.set_next_state((data[0] & 4) != 0);
    encoding.set_fp16((data[0] & 8) != 0);
    encoding.set_slot_states((data[0] & 16) != 0);
    ++data;
    --size;
  }
  while (size >= 2) {
    uint16_t length;
    std::memcpy(&length, data, 2);
    data += 2;
    size -= 2;
    if (length > size) length = static_cast<uint16_t>(size);
    vixen::v1::CollectResponse message;
    const bool parsed = message.ParseFromArray(data, length);
    data += length;
    size -= length;
    if (!parsed) continue;
    if (message.has_opened()) {
      auto created =
          vixen::codec::BatchDecoder::Create(message.opened(), encoding, uint64_t{1} << 20);
      if (created.ok()) decoder.emplace(std::move(*created));
    } else if (decoder.has_value()) {
      if (!decoder->Add(message).ok()) decoder.reset();
    }
  }
  return 0;
}
