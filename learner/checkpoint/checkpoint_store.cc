// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/status_macros.h"
#include "learner/checkpoint/checkpoint_files.h"

namespace vixen::learner {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "checkpoint-";
constexpr char kUnfinished[] = ".unfinished";

std::vector<fs::path> EntriesOf(const std::string& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const fs::path& path : EntriesOf(folder)) {
    const uintmax_t size = fs::file_size(path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace

std::string CheckpointStore::PathOf(uint64_t number) const {
  return absl::StrFormat("%s/%s%06d", folder_, kPrefix, number);
}

std::vector<uint64_t> CheckpointStore::Numbers() const {
  std::vector<uint64_t> numbers;
  for (const fs::path& path : EntriesOf(folder_)) {
    const std::string name = path.filename().string();
    absl::string_view digits = name;
    uint64_t number = 0;
    if (absl::ConsumePrefix(&digits, kPrefix) && absl::SimpleAtoi(digits, &number)) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

absl::StatusOr<CheckpointStore::Written> CheckpointStore::Write(const LearnerCut& cut) const {
  VIXEN_RETURN_IF_ERROR(base::MakeFolders(folder_));
  std::error_code ignored;
  for (const fs::path& path : EntriesOf(folder_)) {
    if (path.extension() == kUnfinished) fs::remove_all(path, ignored);
  }
  const std::vector<uint64_t> there = Numbers();
  const std::string path = PathOf(there.empty() ? 1 : there.back() + 1);
  const std::string unfinished = path + kUnfinished;
  const absl::Status written = [&]() -> absl::Status {
    VIXEN_RETURN_IF_ERROR(base::MakeFolders(unfinished));
    VIXEN_RETURN_IF_ERROR(WriteCheckpointFiles(unfinished, cut));
    if (rename(unfinished.c_str(), path.c_str()) != 0) {
      return base::ErrnoToStatus(errno, "rename to", path);
    }
    absl::Status synced = base::SyncFolder(folder_);
    // Not known to be there after a power cut, and so not to be counted among those kept.
    if (!synced.ok()) fs::remove_all(path, ignored);
    return synced;
  }();
  if (!written.ok()) {
    fs::remove_all(unfinished, ignored);
    return written;
  }
  for (size_t i = 0; i + keep_ < there.size() + 1; ++i) fs::remove_all(PathOf(there[i]), ignored);
  return Written{.path = path, .bytes = BytesIn(path)};
}

absl::StatusOr<std::optional<CheckpointStore::Found>> CheckpointStore::Newest(
    bool previous_ok, const Check& check) const {
  std::vector<uint64_t> numbers = Numbers();
  if (numbers.empty()) return std::optional<Found>();
  Found found;
  while (!numbers.empty()) {
    found.path = PathOf(numbers.back());
    numbers.pop_back();
    absl::StatusOr<LearnerCut> cut = ReadCheckpointFiles(found.path);
    std::string fault(cut.status().message());
    if (cut.ok()) {
      const absl::Status checked = check(*cut);
      if (checked.ok()) {
        found.cut = *std::move(cut);
        return found;
      }
      fault = absl::StrCat(found.path, ": ", checked.message());
    }
    found.damaged.push_back(fault);
    if (!previous_ok) {
      return absl::DataLossError(absl::StrCat(
          fault, numbers.empty() ? "; there is no older one: remove it to begin anew"
                                 : "; --resume=previous-ok goes on from an older one"));
    }
  }
  return absl::DataLossError(absl::StrCat(
      "no checkpoint in ", folder_, " can be gone on from: ", absl::StrJoin(found.damaged, "; ")));
}

}  // namespace vixen::learner
