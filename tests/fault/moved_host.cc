// SPDX-License-Identifier: Apache-2.0
// Loaded with LD_PRELOAD: the name actor.vixen.test has the address that the file named by
// VIXEN_MOVED_HOST holds at that moment, as of a server that is replaced under its name.
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  static const auto next =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const char* const path = getenv("VIXEN_MOVED_HOST");
  if (path == nullptr || node == nullptr || strcmp(node, "actor.vixen.test") != 0) {
    return next(node, service, hints, result);
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return EAI_AGAIN;
  char address[64] = {};
  const ssize_t size = read(file, address, sizeof address - 1);
  close(file);
  return size > 0 ? next(address, service, hints, result) : EAI_AGAIN;
}
