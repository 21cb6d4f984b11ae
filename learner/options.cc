// SPDX-License-Identifier: Apache-2.0
#include "learner/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "learner/client/dataset_fetch.h"

namespace vixen::learner {
namespace {

// Host name and process, within what names may hold.
std::string DefaultConsumer() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string name = host.data();
  for (char& c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!allowed) c = '-';
  }
  return absl::StrCat(name.substr(0, 48), "-", getpid());
}

}  // namespace

absl::Status CompleteConfig(const config::Origins& origins, v1::LearnerConfig& config) {
  if (config.actor().empty()) {
    return base::UsageError("no actor is given: --actor HOST:PORT");
  }
  if (config.resume() && config.out().empty()) {
    return base::UsageError("resume needs out, the folder that holds weights.safetensors");
  }
  if (config.consumer().empty()) config.set_consumer(DefaultConsumer());
  if (config.cache().empty()) config.set_cache(DefaultCacheFolder());

  v1::NetworkSettings& network = *config.mutable_network();
  if (origins.count("hidden1") == 0) network.clear_hidden1();
  if (origins.count("hidden2") == 0) network.clear_hidden2();
  if (origins.count("value_hidden") == 0) network.clear_value_hidden();
  if (origins.count("advantage_hidden") == 0) network.clear_advantage_hidden();
  if (origins.count("curiosity_hidden") == 0) network.clear_curiosity_hidden();
  return absl::OkStatus();
}

int TorchThreads(const v1::LearnerConfig& config) {
  const auto threads = static_cast<int>(config.trainer().torch_threads());
  return threads > 0 ? threads : std::max(1, base::AvailableCpus() - 1);
}

}  // namespace vixen::learner
