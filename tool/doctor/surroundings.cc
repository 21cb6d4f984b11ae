// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/str_cat.h"
#include "market/dataset.h"
#include "proto/config/address.h"
#include "tool/doctor/finding.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr uint64_t kLeastRoom = 64ull << 20;
constexpr uint64_t kEnoughRoom = 1ull << 30;

// errno of a bind to the address, 0 when it works.
int TryToBind(const addrinfo& address) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  // As gRPC does: a port in TIME_WAIT is free.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int error = 0;
  if (bind(fd, address.ai_addr, address.ai_addrlen) != 0 || listen(fd, 1) != 0) error = errno;
  close(fd);
  return error;
}

}  // namespace

Finding ExaminePort(const std::string& address) {
  const std::string subject = base::StrCat("port ", address);
  const auto parsed = config::ParseAddress(address);
  if (!parsed.ok()) {
    return {subject, Verdict::kFail, std::string(parsed.status().message()), "give HOST:PORT"};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &hints, &found);
  if (error != 0) {
    return {subject, Verdict::kFail, base::StrCat("no such host: ", gai_strerror(error)),
            "use an address of this machine, such as 127.0.0.1"};
  }
  const int bind_error = TryToBind(*found);
  freeaddrinfo(found);
  if (bind_error != 0) {
    return {subject, Verdict::kFail, base::StrCat("cannot be listened on: ", strerror(bind_error)),
            bind_error == EADDRINUSE
                ? "stop what listens there (ss -ltnp), or choose another port with --listen"
                : "choose another address with --listen"};
  }
  return {subject, Verdict::kOk, "free", ""};
}

Finding ExamineFolder(const std::string& subject, const std::string& path) {
  std::filesystem::path folder = std::filesystem::absolute(path);
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  if (!std::filesystem::is_directory(folder, ignored)) {
    return {subject, Verdict::kFail, base::StrCat(folder.string(), " is not a folder"),
            "choose another folder"};
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return {subject, Verdict::kFail,
            base::StrCat(folder.string(), " cannot be written: ", strerror(errno)),
            "make it writable for this user, or choose another folder"};
  }
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) {
    return {subject, Verdict::kWarn, base::StrCat(folder.string(), ": the room cannot be read"),
            "check df"};
  }
  const uint64_t room = uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::string text = base::StrCat(path, " can be written, ", Bytes(room), " free");
  if (room < kLeastRoom) return {subject, Verdict::kFail, text, "make room on this disk"};
  if (room < kEnoughRoom) {
    return {subject, Verdict::kWarn, text, "checkpoints and recorded batches need room"};
  }
  return {subject, Verdict::kOk, text, ""};
}

Finding ExamineDataset(const std::string& path) {
  const auto dataset = market::Dataset::Load(path);
  if (!dataset.ok()) {
    return {"dataset", Verdict::kFail, std::string(dataset.status().message()),
            "vixen import writes datasets"};
  }
  return {"dataset", Verdict::kOk,
          base::StrCat(path, ": ", Plural((*dataset)->bars(), "bar"), ", ",
                       (*dataset)->feature_count(), " features, ", (*dataset)->source()),
          ""};
}

std::string CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return base::StrCat(cache, "/vixen");
  }
  const char* home = std::getenv("HOME");
  return base::StrCat(home == nullptr ? "" : home, "/.cache/vixen");
}

}  // namespace vixen::tool
