// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/codec/recorded_batch.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::learner {

// Recorded batches in place of an actor: the files given and those of the folders given, in the
// order of their names, so that a policy's batches of a run come by their sequence.
class StoredBatches {
 public:
  // NOT_FOUND naming the path that is missing or the folder without batches.
  static absl::StatusOr<StoredBatches> Open(const std::vector<std::string>& paths);

  // What an actor that made this batch would say of itself; `bars` of the dataset.
  static v1::GetInfoResponse InfoOf(const codec::RecordedBatch& batch, uint64_t bars);
  // The same of the first batch.
  absl::StatusOr<v1::GetInfoResponse> Info(uint64_t bars) const;

  // Leaves every `of`-th file from `first` on.
  void KeepShare(size_t first, size_t of);

  bool AtEnd() const { return next_ == files_.size(); }
  const std::string& next_file() const { return files_[next_]; }
  size_t size() const { return files_.size(); }
  // Errors as ReadRecordedBatch.
  absl::StatusOr<codec::RecordedBatch> Next() { return codec::ReadRecordedBatch(files_[next_++]); }
  // Next gives the batch that it gave last once more.
  void GoBack() { --next_; }

 private:
  explicit StoredBatches(std::vector<std::string> files) : files_(std::move(files)) {}

  std::vector<std::string> files_;
  size_t next_ = 0;
};

}  // namespace vixen::learner
