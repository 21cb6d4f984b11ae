// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/stored_batches.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/folder.h"
#include "base/status_macros.h"

namespace vixen::learner {

namespace fs = std::filesystem;

absl::StatusOr<StoredBatches> StoredBatches::Open(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      if (!fs::exists(path, error)) {
        return absl::NotFoundError(absl::StrCat("offline: ", path, ": no such file or folder"));
      }
      files.push_back(path);
      continue;
    }
    const absl::StatusOr<std::vector<std::string>> inside = base::TensorFilesIn(path);
    if (!inside.ok()) {
      return absl::Status(inside.status().code(),
                          absl::StrCat("offline: ", inside.status().message()));
    }
    if (inside->empty()) {
      return absl::NotFoundError(
          absl::StrCat("offline: ", path,
                       ": no recorded batch (NAME.safetensors of vixen collect --out) there"));
    }
    files.insert(files.end(), inside->begin(), inside->end());
  }
  return StoredBatches(std::move(files));
}

absl::StatusOr<v1::GetInfoResponse> StoredBatches::Info(uint64_t bars) const {
  VIXEN_ASSIGN_OR_RETURN(const codec::RecordedBatch first,
                         codec::ReadRecordedBatch(files_.front()));
  return InfoOf(first, bars);
}

void StoredBatches::KeepShare(size_t first, size_t of) {
  std::vector<std::string> share;
  for (size_t i = first; i < files_.size(); i += of) share.push_back(files_[i]);
  files_ = std::move(share);
}

v1::GetInfoResponse StoredBatches::InfoOf(const codec::RecordedBatch& batch, uint64_t bars) {
  v1::GetInfoResponse info;
  info.set_run_id(batch.header.run_id());
  info.set_episodes(batch.header.episodes());
  info.set_steps(batch.header.steps());
  *info.mutable_architecture() = batch.architecture;
  info.set_settings(batch.settings);
  info.mutable_dataset()->set_fingerprint(batch.dataset_fingerprint);
  info.mutable_dataset()->set_scaler_fingerprint(batch.scaler_fingerprint);
  info.mutable_dataset()->set_bars(bars);
  return info;
}

}  // namespace vixen::learner
