// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/certificates.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/str_cat.h"
#include "tests/scratch_folder.h"

namespace vixen::transport {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(60);

void MakeCertificates(const std::string& folder, const std::string& options = "") {
  const char* source = std::getenv("VIXEN_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  const std::string command = base::StrCat(source, "/scripts/dev-certs.sh ", options, " ", folder);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

template <typename Condition>
bool Eventually(Condition&& condition) {
  const auto deadline = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// While it lives no file can be written to: memory files neither.
class NoWrites {
 public:
  NoWrites() : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit none = limit_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoWrites() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit limit_{};
  sighandler_t handler_;
};

TEST(Certificates, ASetThatCouldNotBePublishedIsTriedAgain) {
  vixen::testing::ScratchFolder folder;
  MakeCertificates(folder.path());
  const std::string used = folder.File("used.pem");
  v1::TlsSettings tls;
  tls.set_tls_certificate(folder.File("actor.pem"));
  tls.set_tls_key(folder.File("actor.key"));
  tls.set_tls_ca(used);
  ASSERT_EQ(std::system(base::StrCat("cp ", folder.File("ca.pem"), " ", used).c_str()), 0);
  const auto certificates = Certificates::Open(tls);
  ASSERT_TRUE(certificates.ok()) << certificates.status();
  const std::string both =
      base::StrCat("cat ", folder.File("ca.pem"), " ", folder.File("ca.pem"), " > ", used, ".new");
  ASSERT_EQ(std::system(both.c_str()), 0);
  bool refused = false;
  {
    const NoWrites no_writes;
    ASSERT_EQ(std::rename((used + ".new").c_str(), used.c_str()), 0);
    refused = Eventually([&] { return (*certificates)->state().failures == 1; });
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(Eventually([&] { return (*certificates)->state().reloads == 1; }));
  EXPECT_EQ((*certificates)->state().failures, 1u);
}

// What a slow end looks like: LibTorch takes half a second for its own part of exit().
Certificates* watched = nullptr;
void LingerAndCount() {
  const auto until = Clock::now() + std::chrono::milliseconds(2500);
  while (Clock::now() < until && watched->state().failures == 0) std::this_thread::yield();
  std::_Exit(watched->state().failures == 0 ? 0 : 3);
}

TEST(CertificatesDeathTest, NobodyLooksAtTheFilesAnyMoreWhileTheProcessExits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  vixen::testing::ScratchFolder folder;
  MakeCertificates(folder.path());
  const auto open_and_exit = [&] {
    v1::TlsSettings tls;
    tls.set_tls_certificate(folder.File("actor.pem"));
    tls.set_tls_key(folder.File("actor.key"));
    tls.set_tls_ca(folder.File("ca.pem"));
    std::atexit(LingerAndCount);  // registered before OpenSSL's own end, so it runs after that
    const auto certificates = Certificates::Open(tls);
    if (!certificates.ok()) std::_Exit(4);
    watched = *certificates;
    std::exit(5);
  };
  EXPECT_EXIT(open_and_exit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace vixen::transport
