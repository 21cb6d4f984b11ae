// SPDX-License-Identifier: Apache-2.0
// A batch kept as one safetensors file: enough to read it anywhere and to compute the launch again.
// docs/formats.md, "Recorded batch".
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch/batch.h"
#include "proto/codec/batch_decoder.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::codec {

struct RecordedBatch {
  v1::BatchHeader header;
  v1::BatchTrailer trailer;
  std::string settings;  // the bytes of `opened.settings`
  v1::Architecture architecture;
  std::string dataset_fingerprint;  // 32 bytes
  std::string scaler_fingerprint;   // 32 bytes
  kernels::Batch batch;             // statistics from the trailer; start_states with carry_over
  std::vector<float> state;         // [N·L, S] or empty
  std::vector<float> next_state;    // [N·L, S] or empty
};

RecordedBatch RecordOf(DecodedBatch decoded, const v1::Opened& opened);

// Tensors: the columns as [N, L] or [N, L, width], `state` and `next_state` where present, and
// `slot_states` U8 [N, 168]. Metadata: "format" = "vixen.batch.v1", "header" and "trailer" and
// "architecture" as proto JSON, "settings" and the fingerprints as hexadecimal digits.
absl::Status WriteRecordedBatch(const std::string& path, const RecordedBatch& recorded);

// Checks everything that the decoder checks, and that settings and header belong together. The
// trailer's CRC is over the wire's payload, of whichever encoding, and is kept but not compared;
// the file's own checksum is. INVALID_ARGUMENT or DATA_LOSS naming file, tensor or key.
absl::StatusOr<RecordedBatch> ReadRecordedBatch(const std::string& path);

}  // namespace vixen::codec
