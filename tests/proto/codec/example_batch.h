// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "kernels/batch/batch.h"
#include "kernels/env/settings.h"
#include "proto/codec/batch_encoder.h"
#include "proto/codec/column_layout.h"
#include "proto/codec/convert.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::codec {

// A batch of 3 slots × 5 steps (odd on purpose) over a market of 4 features, every value another
// one.
class Example {
 public:
  static constexpr uint32_t kEpisodes = 3;
  static constexpr uint32_t kSteps = 5;
  static constexpr uint32_t kFeatures = 4;
  static constexpr uint32_t kBars = 40;

  Example() : batch(kEpisodes, kSteps, true) {
    for (uint32_t i = 0; i < kBars * kFeatures; ++i) {
      features.push_back(0.25f * static_cast<float>(i));
    }
    const kernels::BatchView view = batch.view();
    for (uint32_t row = 0; row < batch.rows(); ++row) {
      const auto value = static_cast<float>(row);
      view.bar[row] = 2 * row + 1;
      view.episode[row] = row / 4;
      view.action[row] = static_cast<uint8_t>(row);
      view.flags[row] =
          row % 5 == 4 ? kernels::kFlagValid | kernels::kFlagTruncated : kernels::kFlagValid;
      view.reward[row] = -0.5f * value;
      view.td[row] = 0.125f * value;
      for (uint32_t k = 0; k < 3; ++k) {
        view.portfolio[3 * row + k] = 1.0f + value + 0.25f * static_cast<float>(k);
        view.next_portfolio[3 * row + k] = 2.0f + value + 0.25f * static_cast<float>(k);
      }
      for (uint32_t k = 0; k < 5; ++k) view.terms[5 * row + k] = static_cast<float>(k) - value;
    }
    batch.statistics.valid_rows = batch.rows();
    batch.statistics.term_sum[1] = -3.25;
    batch.statistics.barrier_result[2] = 7;
    batch.statistics.td_max = 1.75;
    batch.statistics.clamped_activations = 11;
    batch.start_states.resize(kEpisodes);
    for (uint32_t slot = 0; slot < kEpisodes; ++slot) batch.start_states[slot].rng = 100 + slot;
  }

  kernels::MarketView market() const {
    return {.features = features.data(), .bars = kBars, .feature_count = kFeatures, .end = kBars};
  }

  static v1::Opened Opened(const v1::Encoding& encoding) {
    v1::Opened opened;
    opened.set_run_id(42);
    opened.set_episodes(kEpisodes);
    opened.set_steps(kSteps);
    opened.mutable_architecture()->set_features(kFeatures);
    opened.set_settings("settings");
    opened.set_chunk_bytes(1 << 20);
    opened.set_dataset_fingerprint(std::string(32, 'd'));
    opened.set_scaler_fingerprint(std::string(32, 's'));
    const auto layout = ColumnLayout::Of(encoding, kFeatures + 3);
    if (layout.ok()) *opened.mutable_columns() = layout->ToProto();
    return opened;
  }

  static v1::BatchHeader Header(uint64_t payload_bytes) {
    v1::BatchHeader header;
    header.set_run_id(42);
    header.set_policy("p");
    header.set_sequence(6);
    header.set_episodes(kEpisodes);
    header.set_steps(kSteps);
    header.set_epsilon(0.1f);
    header.set_delivery(1);
    header.set_precision(v1::PRECISION_FP32);
    const base::Sha256Digest sha256 = base::Sha256Of("settings");
    header.set_settings_sha256(std::string(sha256.begin(), sha256.end()));
    header.set_payload_bytes(payload_bytes);
    return header;
  }

  // The messages of a stream after `opened`: header, chunks of `chunk_bytes`, trailer.
  std::vector<v1::CollectResponse> Messages(const v1::Encoding& encoding,
                                            uint64_t chunk_bytes) const {
    const auto layout = ColumnLayout::Of(encoding, kFeatures + 3);
    const auto encoded = EncodeBatch(batch, *layout, market());
    std::vector<v1::CollectResponse> messages(1);
    *messages[0].mutable_header() = Header(encoded->payload_bytes);
    for (uint64_t at = 0; at < encoded->payload_bytes; at += chunk_bytes) {
      v1::BatchChunk& chunk = *messages.emplace_back().mutable_chunk();
      chunk.set_offset(at);
      const uint64_t size = std::min(chunk_bytes, encoded->payload_bytes - at);
      for (const std::span<const std::byte> part : encoded->Range(at, size)) {
        chunk.mutable_data()->append(reinterpret_cast<const char*>(part.data()), part.size());
      }
    }
    v1::BatchTrailer& trailer = *messages.emplace_back().mutable_trailer();
    trailer.set_crc32c(encoded->Crc32c());
    *trailer.mutable_statistics() = ToProto(batch.statistics);
    return messages;
  }

  std::vector<float> features;
  kernels::Batch batch;
};

inline v1::Encoding EncodingOf(bool terms, bool state, bool next_state, bool fp16,
                               bool slot_states) {
  v1::Encoding encoding;
  encoding.set_terms(terms);
  encoding.set_state(state);
  encoding.set_next_state(next_state);
  encoding.set_fp16(fp16);
  encoding.set_slot_states(slot_states);
  return encoding;
}

}  // namespace vixen::codec
