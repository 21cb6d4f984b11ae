// SPDX-License-Identifier: Apache-2.0
// vixen audit: recorded launches computed again.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_flags.h"
#include "proto/config/leaf.h"
#include "proto/config/value_text.h"
#include "tool/audit/audit.h"
#include "tool/command.h"
#include "tool/executor_flags.h"

namespace vixen::tool {
namespace {

struct AuditFlags {
  std::vector<std::string> batches;
  std::string data;
  std::string weights;
  ExecutorFlags executor;
  v1::EnvironmentSettings environment;
  std::unique_ptr<config::ConfigFlags> expected;
  bool json = false;
};

// The settings that were given, as they must be in the batches.
std::vector<std::pair<std::string, std::string>> ExpectedOf(const AuditFlags& flags) {
  std::vector<std::pair<std::string, std::string>> expected;
  for (const config::Leaf& leaf : config::LeavesOf(*flags.environment.GetDescriptor())) {
    if (flags.expected->origins().count(leaf.name()) == 0) continue;
    expected.emplace_back(leaf.name(), config::ValuesText(flags.environment, leaf));
  }
  return expected;
}

absl::StatusOr<AuditResult> AuditFile(const Auditor& auditor, const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(codec::RecordedBatch recorded, codec::ReadRecordedBatch(path));
  return Audit(auditor, recorded);
}

absl::Status RunAudit(AuditFlags& flags) {
  VIXEN_RETURN_IF_ERROR(flags.expected->Apply());
  VIXEN_ASSIGN_OR_RETURN(const kernels::ChosenExecutor chosen, flags.executor.Choose());
  Auditor auditor{.make = chosen.make, .precision = flags.executor.precision};
  auditor.expected = ExpectedOf(flags);
  VIXEN_ASSIGN_OR_RETURN(auditor.dataset, market::Dataset::Load(flags.data));
  VIXEN_ASSIGN_OR_RETURN(auditor.weights, kernels::WeightsArchive::Open(flags.weights));

  size_t failed = 0;
  for (const std::string& path : flags.batches) {
    absl::StatusOr<AuditResult> result = AuditFile(auditor, path);
    if (!result.ok()) result = AuditResult{false, std::string(result.status().message())};
    failed += result->passed ? 0 : 1;
    if (flags.json) {
      const nlohmann::ordered_json line = {
          {"batch", path}, {"passed", result->passed}, {"text", result->text}};
      std::cout << line.dump() << "\n";
    } else {
      // An error of the file begins with its name already.
      const bool named = result->text.starts_with(path);
      std::cout << (result->passed ? "passed " : "FAILED ")
                << (named ? result->text : base::StrCat(path, ": ", result->text)) << "\n";
    }
  }
  if (failed == 0) return absl::OkStatus();
  return absl::DataLossError(
      base::StrCat(failed, " of ", flags.batches.size(), " batches are not what they say"));
}

}  // namespace

void AddAudit(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<AuditFlags>();
  CLI::App* command =
      app.add_subcommand("audit", "compute recorded launches again and compare every row");
  command->add_option("batch", flags->batches, "files of vixen collect --out")
      ->required()
      ->type_name("BATCH…");
  command->add_option("--data", flags->data, "the dataset that they were made on")->required();
  command->add_option("--weights", flags->weights, "folder with every version that they name")
      ->required();
  command->add_flag("--json", flags->json, "an object a batch, a line each");
  flags->executor.AddTo(*command);
  flags->expected = std::make_unique<config::ConfigFlags>(*command, flags->environment);
  command->callback([flags, &selected] { selected = [flags] { return RunAudit(*flags); }; });
}

}  // namespace vixen::tool
