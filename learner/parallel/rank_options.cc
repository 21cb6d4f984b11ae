// SPDX-License-Identifier: Apache-2.0
#include "learner/parallel/rank_options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "learner/device/rank_exchange.h"
#include "learner/options.h"
#include "proto/config/address.h"
#include "proto/config/leaf.h"
#include "proto/config/value_text.h"

namespace vixen::learner {
namespace {

constexpr std::array<std::string_view, 16> kOwn = {
    "consumer",  "metrics_listen", "listen",        "port_file",   "dataset", "cache",
    "out",       "resume",         "progress",      "device",      "offline", "checkpoint_folder",
    "log_level", "log_format",     "torch_threads", "update_trace"};

std::string Value(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<int> Number(const Environment& environment, const char* name, int least, int most) {
  const std::string text = Value(environment, name);
  int value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return value;
  return absl::FailedPreconditionError(
      absl::StrCat("WORLD_SIZE is ", Value(environment, "WORLD_SIZE"), " and ", name, " is \"",
                   text, "\", needed: ", least, " … ", most));
}

void RaisePort(int by, std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port)) return;
  if (port > 0) address = absl::StrCat(address.substr(0, colon + 1), port + by);
}

}  // namespace

absl::StatusOr<std::optional<RankOptions>> RankOptionsOf(const v1::LearnerConfig& config,
                                                         const Environment& environment) {
  constexpr int kMostRanks = 4096;
  if (Value(environment, "WORLD_SIZE").empty()) return std::nullopt;
  RankOptions options;
  VIXEN_ASSIGN_OR_RETURN(options.world, Number(environment, "WORLD_SIZE", 1, kMostRanks));
  if (options.world == 1) return std::nullopt;
  const bool indexed =
      Value(environment, "RANK").empty() && !Value(environment, "JOB_COMPLETION_INDEX").empty();
  VIXEN_ASSIGN_OR_RETURN(
      options.rank,
      Number(environment, indexed ? "JOB_COMPLETION_INDEX" : "RANK", 0, options.world - 1));
  if (!Value(environment, "LOCAL_RANK").empty()) {
    VIXEN_ASSIGN_OR_RETURN(options.local_rank,
                           Number(environment, "LOCAL_RANK", 0, options.world - 1));
  }
  options.master = Value(environment, "MASTER_ADDR");
  if (options.master.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "WORLD_SIZE is ", options.world, " and MASTER_ADDR is not set, needed: rank 0's host"));
  }
  VIXEN_ASSIGN_OR_RETURN(const int port, Number(environment, "MASTER_PORT", 1, 65535));
  options.port = static_cast<uint16_t>(port);
  if (!config::Address{options.master, 0}.IsLoopback() && !config.tls().insecure()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "MASTER_ADDR is \"", options.master,
        "\", not loopback, with insecure false: what ranks say to each other is neither encrypted "
        "nor authenticated; set insecure true where the network between them is trusted"));
  }
  options.serves_store =
      options.rank == 0 && Value(environment, "TORCHELASTIC_USE_AGENT_STORE") != "True";
  options.attempt = absl::StrCat(Value(environment, "TORCHELASTIC_RUN_ID"), "/",
                                 Value(environment, "TORCHELASTIC_RESTART_COUNT"));
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  };
  options.timeout = milliseconds(config.parallel().rank_timeout_seconds());
  options.join_timeout = milliseconds(config.parallel().rank_join_seconds());
  return options;
}

LossWaits WaitsAfterLoss(std::chrono::milliseconds timeout, bool on_gpus, bool go_on) {
  constexpr std::chrono::milliseconds kTurn{1'000}, kLongestName{10'000};
  LossWaits waits{.notice = timeout + kTurn, .gather = std::min(timeout, kLongestName)};
  // What waits on the GPU is ended first, then the library's part of it.
  if (on_gpus) waits.notice = NcclJoinTimeout(timeout) + 2 * kLongestEnd + kTurn;
  if (go_on) waits.gather = waits.notice;
  return waits;
}

void SetApart(const RankOptions& rank, v1::LearnerConfig& config) {
  RaisePort(rank.local_rank, *config.mutable_metrics_listen());
  RaisePort(rank.local_rank, *config.mutable_listen());
  if (rank.rank == 0) return;
  const std::string folder = absl::StrCat("/rank-", rank.rank);
  if (!config.out().empty()) config.mutable_out()->append(folder);
  v1::CheckpointSettings& checkpoint = *config.mutable_checkpoint();
  if (!checkpoint.checkpoint_folder().empty())
    checkpoint.mutable_checkpoint_folder()->append(folder);
  if (!config.port_file().empty()) absl::StrAppend(config.mutable_port_file(), "-", rank.rank);
  std::string& trace = *config.mutable_testing()->mutable_update_trace();
  if (!trace.empty()) absl::StrAppend(&trace, "-", rank.rank);
}

std::string SharedSettings(const v1::LearnerConfig& config) {
  std::string text;
  for (const config::Leaf& leaf : config::LeavesOf(*config.GetDescriptor())) {
    if (std::find(kOwn.begin(), kOwn.end(), leaf.name()) != kOwn.end()) continue;
    absl::StrAppend(&text, leaf.name(), "\t", config::ValuesText(config, leaf), "\n");
  }
  return text;
}

absl::Status CheckAgreement(const std::vector<std::string>& texts) {
  const std::vector<std::string> first = absl::StrSplit(texts.front(), '\n');
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    const std::vector<std::string> other = absl::StrSplit(texts[rank], '\n');
    for (size_t line = 0; line < std::max(first.size(), other.size()); ++line) {
      const std::string ours = line < first.size() ? first[line] : "";
      const std::string theirs = line < other.size() ? other[line] : "";
      if (ours == theirs) continue;
      const std::string& named = theirs.empty() ? ours : theirs;
      const auto value_of = [](const std::string& text) {
        const size_t tab = text.find('\t');
        return tab == std::string::npos ? "nothing" : text.substr(tab + 1);
      };
      return absl::FailedPreconditionError(absl::StrCat(
          "the ranks disagree: rank ", rank, " has ", named.substr(0, named.find('\t')), " ",
          value_of(theirs), ", rank 0 has ", value_of(ours)));
    }
  }
  return absl::OkStatus();
}

}  // namespace vixen::learner
