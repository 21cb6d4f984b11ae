// SPDX-License-Identifier: Apache-2.0
#include "learner/client/dataset_fetch.h"

#include <fcntl.h>
#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "learner/client/channel.h"

namespace vixen::learner {
namespace {

bool Matches(const market::Dataset& dataset, const v1::DatasetInfo& actor) {
  const base::Sha256Digest& ours = dataset.fingerprint();
  return actor.fingerprint() ==
         std::string(reinterpret_cast<const char*>(ours.data()), ours.size());
}

// A file being received, locked against a second learner.
class PartFile {
 public:
  static absl::StatusOr<PartFile> Open(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return base::ErrnoToStatus(errno, "open", path);
    PartFile file(path, fd);
    if (flock(fd, LOCK_EX) != 0) return base::ErrnoToStatus(errno, "lock", path);
    return file;
  }
  PartFile(PartFile&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_) {
    other.fd_ = -1;
  }
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (fd_ >= 0) close(fd_);
  }

  // False when another learner renamed or removed it while this one waited for the lock.
  bool IsAt(const std::string& path) const {
    struct stat ours = {}, there = {};
    return fstat(fd_, &ours) == 0 && stat(path.c_str(), &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  }
  uint64_t size() const {
    const off_t end = lseek(fd_, 0, SEEK_END);
    return end < 0 ? 0 : static_cast<uint64_t>(end);
  }
  absl::Status Append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return base::ErrnoToStatus(errno, "write", path_);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }
  absl::Status Truncate() {
    return ftruncate(fd_, 0) == 0 ? absl::OkStatus()
                                  : base::ErrnoToStatus(errno, "truncate", path_);
  }
  absl::Status Sync() {
    return fsync(fd_) == 0 ? absl::OkStatus() : base::ErrnoToStatus(errno, "fsync", path_);
  }

 private:
  PartFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

absl::Status ReceiveRest(v1::Actor::Stub& actor, const v1::DatasetInfo& info, PartFile& file) {
  grpc::ClientContext context;
  v1::GetDatasetRequest request;
  request.set_fingerprint(info.fingerprint());
  request.set_offset(file.size());
  const auto stream = actor.GetDataset(&context, request);
  v1::GetDatasetResponse response;
  absl::Status status;
  while (status.ok() && stream->Read(&response)) {
    if (response.offset() != file.size()) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "GetDataset: piece at offset ", response.offset(), ", expected ", file.size()));
    } else if (file.size() + response.data().size() > info.file_bytes()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("GetDataset: more than the announced ", info.file_bytes(), " bytes"));
    } else {
      status = file.Append(response.data());
    }
  }
  if (!status.ok()) context.TryCancel();
  const grpc::Status finished = stream->Finish();
  return status.ok() ? FromGrpc(finished, "GetDataset") : status;
}

}  // namespace

std::string DefaultCacheFolder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0) {
    return absl::StrCat(xdg, "/vixen");
  }
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "." : home, "/.cache/vixen");
}

absl::StatusOr<std::shared_ptr<const market::Dataset>> LoadMatchingDataset(
    const std::string& path, const v1::DatasetInfo& actor) {
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<const market::Dataset> dataset,
                         market::Dataset::Load(path));
  if (!Matches(*dataset, actor)) {
    return absl::FailedPreconditionError(
        absl::StrCat("dataset ", path, " has fingerprint ", base::ToHex(dataset->fingerprint()),
                     ", the actor's is ", absl::BytesToHexString(actor.fingerprint()),
                     "; give both the same file, or leave dataset out to fetch the actor's"));
  }
  return dataset;
}

absl::StatusOr<std::shared_ptr<const market::Dataset>> FetchDataset(v1::Actor::Stub& actor,
                                                                    const v1::DatasetInfo& info,
                                                                    const std::string& cache_folder,
                                                                    StopFlag& stop) {
  const std::string path =
      absl::StrCat(cache_folder, "/", absl::BytesToHexString(info.fingerprint()), ".safetensors");
  if (access(path.c_str(), R_OK) == 0) {
    absl::StatusOr<std::shared_ptr<const market::Dataset>> cached = LoadMatchingDataset(path, info);
    if (cached.ok()) return cached;
    spdlog::warn("{}; fetching it again", cached.status().ToString());
  }
  VIXEN_RETURN_IF_ERROR(base::MakeFolders(cache_folder));
  const std::string part = absl::StrCat(path, ".part");
  VIXEN_ASSIGN_OR_RETURN(PartFile file, PartFile::Open(part));
  if (!file.IsAt(part)) return FetchDataset(actor, info, cache_folder, stop);
  if (file.size() > info.file_bytes()) VIXEN_RETURN_IF_ERROR(file.Truncate());

  Backoff backoff;
  while (file.size() < info.file_bytes()) {
    const uint64_t before = file.size();
    const absl::Status status = ReceiveRest(actor, info, file);
    if (file.size() > before) backoff.Reset();
    if (!status.ok() && !IsTransient(status)) return status;
    if (status.code() == absl::StatusCode::kResourceExhausted) return status;
    if (file.size() == info.file_bytes()) break;
    spdlog::warn("dataset: {} of {} bytes received ({}); going on", file.size(), info.file_bytes(),
                 status.ToString());
    if (!backoff.Wait(stop)) return absl::CancelledError("stopped while fetching the dataset");
  }
  VIXEN_RETURN_IF_ERROR(file.Sync());
  absl::StatusOr<std::shared_ptr<const market::Dataset>> dataset = LoadMatchingDataset(part, info);
  if (!dataset.ok()) {
    unlink(part.c_str());
    return dataset.status();
  }
  if (std::rename(part.c_str(), path.c_str()) != 0)
    return base::ErrnoToStatus(errno, "rename", part);
  spdlog::info("dataset: fetched {} bytes into {}", info.file_bytes(), path);
  return dataset;
}

}  // namespace vixen::learner
