// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/checkpoint_head.h"

#include <google/protobuf/text_format.h>

#include "base/file.h"
#include "base/sha256_sums.h"
#include "base/str_cat.h"

namespace vixen::codec {

absl::Status VerifyCheckpoint(const std::string& folder) {
  absl::Status status = base::VerifySha256Sums(folder, kCheckpointFiles);
  if (status.ok()) return status;
  return absl::DataLossError(base::StrCat("checkpoint is damaged: ", status.message()));
}

absl::StatusOr<v1::Checkpoint> ReadCheckpointHead(const std::string& folder) {
  const std::string path = base::StrCat(folder, "/", kCheckpointState);
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  v1::Checkpoint head;
  if (!text.ok() || !google::protobuf::TextFormat::ParseFromString(*text, &head)) {
    return absl::DataLossError(
        base::StrCat("checkpoint is damaged: ", path,
                     text.ok() ? " is no state of a checkpoint" : " cannot be read"));
  }
  return head;
}

}  // namespace vixen::codec
