// SPDX-License-Identifier: Apache-2.0
// vixen collect: batches as any consumer takes them, or from an executor in this process.
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_check.h"
#include "proto/config/config_flags.h"
#include "tool/collect/sources.h"
#include "tool/collect/statistics_text.h"
#include "tool/command.h"

namespace vixen::tool {
namespace {

struct CollectFlags {
  ActorSource actor;
  LocalSource local;
  uint64_t launches = 1;
  std::string out;
  bool summary = false;
  bool json = false;
  std::unique_ptr<config::ConfigFlags> tls;
  std::unique_ptr<config::ConfigFlags> environment;
};

absl::Status CheckFlags(const CollectFlags& flags) {
  const bool local = !flags.local.data.empty() || !flags.local.weights.empty();
  if (local == !flags.actor.address.empty()) {
    return base::UsageError("give either --actor HOST:PORT or --data and --weights");
  }
  if (local && (flags.local.data.empty() || flags.local.weights.empty())) {
    return base::UsageError("--data and --weights go together");
  }
  if (local && !flags.actor.weights_out.empty()) {
    return base::UsageError(
        "--weights_out needs --actor: the weights of a launch here are --weights");
  }
  if (flags.launches == 0) return base::UsageError("--launches 0: at least 1");
  if (!(flags.local.epsilon >= 0 && flags.local.epsilon <= 1)) {
    return base::UsageError(base::StrCat("--epsilon ", flags.local.epsilon, ": from 0 to 1"));
  }
  if (!config::IsName(flags.actor.policy)) {
    return base::UsageError(base::StrCat("--policy \"", flags.actor.policy,
                                         "\": 1 to 64 of letters, digits, '.', '_' and '-'"));
  }
  return absl::OkStatus();
}

std::string FileNameOf(const v1::BatchHeader& header) {
  return absl::StrFormat("%s-%016x-%06d.safetensors", header.policy(), header.run_id(),
                         header.sequence());
}

absl::Status RunCollect(CollectFlags& flags) {
  VIXEN_RETURN_IF_ERROR(CheckFlags(flags));
  VIXEN_RETURN_IF_ERROR(flags.tls->Apply());
  VIXEN_RETURN_IF_ERROR(flags.environment->Apply());
  if (!flags.out.empty()) VIXEN_RETURN_IF_ERROR(base::MakeFolders(flags.out));

  kernels::LaunchStatistics sum;
  uint64_t batches = 0;
  const BatchSink sink = [&](const codec::RecordedBatch& recorded) -> absl::Status {
    sum.Add(recorded.batch.statistics);
    ++batches;
    std::string path;
    if (!flags.out.empty()) {
      path = (std::filesystem::path(flags.out) / FileNameOf(recorded.header)).string();
      VIXEN_RETURN_IF_ERROR(codec::WriteRecordedBatch(path, recorded));
    }
    if (!flags.json && !flags.summary) {
      std::cout << base::StrCat("launch ", recorded.header.launch(), " sequence ",
                                recorded.header.sequence(), ", ", recorded.header.episodes(), " × ",
                                recorded.header.steps(), ", ", recorded.batch.statistics.valid_rows,
                                " valid, weights ", recorded.header.online_version(), ", epsilon ",
                                recorded.header.epsilon(), path.empty() ? "" : " → ", path, "\n");
    }
    return absl::OkStatus();
  };
  if (flags.actor.address.empty()) {
    VIXEN_RETURN_IF_ERROR(CollectLocally(flags.local, flags.launches, sink));
  } else {
    VIXEN_RETURN_IF_ERROR(CollectFromActor(flags.actor, flags.launches, sink));
  }
  if (flags.json) {
    std::cout << StatisticsJson(sum, batches).dump() << "\n";
  } else if (flags.summary) {
    std::cout << StatisticsText(sum, batches);
  }
  return absl::OkStatus();
}

}  // namespace

void AddCollect(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<CollectFlags>();
  CLI::App* command = app.add_subcommand(
      "collect", "take batches as a consumer would, or run the executor in this process");
  command->add_option("--actor", flags->actor.address, "HOST:PORT of an actor");
  command->add_option("--policy", flags->actor.policy, "policy to take (default)");
  command->add_option("--data", flags->local.data, "dataset file, without an actor");
  command->add_option("--weights", flags->local.weights, "weights file, without an actor");
  command->add_option("--launches", flags->launches, "batches to take")->required();
  command->add_option("--out", flags->out, "folder for POLICY-RUN-SEQUENCE.safetensors");
  command->add_option("--weights_out", flags->actor.weights_out,
                      "folder for the weights that the batches were made with (vixen audit)");
  command->add_option("--epsilon", flags->local.epsilon, "exploration, without an actor (0)");
  command->add_option("--seed", flags->local.seed, "run seed, without an actor (0)");
  flags->local.executor.AddTo(*command);
  command->add_flag("--summary", flags->summary, "statistics over all launches");
  command->add_flag("--json", flags->json, "the statistics as JSON");
  flags->tls = std::make_unique<config::ConfigFlags>(*command, flags->actor.tls,
                                                     config::ConfigFlags::File::kNone);
  flags->environment = std::make_unique<config::ConfigFlags>(*command, flags->local.environment);
  command->callback([flags, &selected] { selected = [flags] { return RunCollect(*flags); }; });
}

}  // namespace vixen::tool
