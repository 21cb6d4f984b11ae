// SPDX-License-Identifier: Apache-2.0
#include "learner/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "learner/client/dataset_fetch.h"
#include "learner/replay/replay.h"
#include "learner/replay/row.h"

namespace vixen::learner {
namespace {

// LibTorch, gRPC, the dataset's pages in use, batches under way: measured 190 MiB with a small
// network, the rest is room.
constexpr uint64_t kOwnBytes = 320ull << 20;

// The same after a restart: the pod's name where there is one, else the host's, and the rank where
// several processes of a host are told apart by it; within what names may hold.
std::string DefaultConsumer() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const char* const pod = std::getenv("POD_NAME");
  const char* const rank = std::getenv("RANK");
  std::string name = pod != nullptr && *pod != '\0' ? pod : host.data();
  name = name.substr(0, 48);
  if (rank != nullptr && *rank != '\0') absl::StrAppend(&name, "-", std::string(rank).substr(0, 8));
  for (char& c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!allowed) c = '-';
  }
  return name;
}

}  // namespace

absl::Status CompleteConfig(const config::Origins& origins, v1::LearnerConfig& config) {
  if (config.actor().empty() == config.offline().empty()) {
    return base::UsageError(config.actor().empty()
                                ? "no actor is given: --actor HOST:PORT, or --offline BATCHES"
                                : "actor and offline exclude each other");
  }
  if (!config.offline().empty() && config.dataset().empty()) {
    return base::UsageError("offline needs dataset, the one that the batches were made on");
  }
  if (config.resume() != v1::RESUME_NO && CheckpointFolder(config).empty()) {
    return base::UsageError("resume needs out, the folder of weights.safetensors and checkpoints");
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

std::string CheckpointFolder(const v1::LearnerConfig& config) {
  const std::string& folder = config.checkpoint().checkpoint_folder();
  if (!folder.empty()) return folder;
  return config.out().empty() ? "" : absl::StrCat(config.out(), "/checkpoints");
}

bool MakesCheckpoints(const v1::LearnerConfig& config) {
  const v1::CheckpointSettings& checkpoint = config.checkpoint();
  return !CheckpointFolder(config).empty() &&
         (checkpoint.checkpoint_seconds() > 0 || checkpoint.checkpoint_updates() > 0);
}

absl::Status CheckMemory(const v1::LearnerConfig& config, bool replay_on_host) {
  return CheckMemory(config, replay_on_host, base::AvailableMemoryBytes());
}

absl::Status CheckMemory(const v1::LearnerConfig& config, bool replay_on_host, uint64_t limit) {
  const auto replay = [&](uint64_t capacity) {
    return replay_on_host ? Replay::BytesOf(capacity) : uint64_t{0};
  };
  // From a GPU the rows come over in one piece beside the cut.
  const auto cut = [&](uint64_t capacity) {
    return Replay::CutBytesOf(capacity) +
           (replay_on_host ? 0 : capacity * (sizeof(ReplayRow) + sizeof(float)));
  };
  const auto needed = [&](uint64_t capacity) {
    return replay(capacity) + (MakesCheckpoints(config) ? cut(capacity) : 0);
  };
  const uint64_t capacity = config.replay().capacity();
  if (needed(capacity) + kOwnBytes <= limit) return absl::OkStatus();
  uint64_t most = 0;
  for (uint64_t step = std::bit_floor(capacity); step > 0; step /= 2) {
    if (needed(most + step) + kOwnBytes <= limit) most += step;
  }
  const auto mib = [](uint64_t bytes) { return bytes >> 20; };
  return base::UsageError(absl::StrCat(
      "capacity is ", capacity, ": ", mib(replay(capacity)), " MiB of replay",
      MakesCheckpoints(config) ? absl::StrCat(" + ", mib(cut(capacity)), " MiB for checkpoints")
                               : "",
      " + ", mib(kOwnBytes), " MiB for the rest are more than the ", mib(limit),
      " MiB that the cgroup or the machine allows; ",
      most > 0 ? absl::StrCat("set capacity to at most ", most, " or raise the limit")
               : std::string("raise the limit")));
}

int TorchThreads(const v1::LearnerConfig& config) {
  const auto threads = static_cast<int>(config.trainer().torch_threads());
  return threads > 0 ? threads : std::max(1, base::AvailableCpus() - 1);
}

}  // namespace vixen::learner
