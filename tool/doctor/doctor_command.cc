// SPDX-License-Identifier: Apache-2.0
// vixen doctor: what would stop a run here, each with its remedy.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_flags.h"
#include "tool/command.h"
#include "tool/doctor/finding.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

struct DoctorFlags {
  std::string data;
  std::vector<std::string> listen;
  std::vector<std::string> actors;
  v1::TlsSettings tls;
  std::unique_ptr<config::ConfigFlags> config;
  std::string out = ".";
  bool json = false;
};

const char* VerdictName(Verdict verdict) {
  return verdict == Verdict::kOk ? "ok" : verdict == Verdict::kWarn ? "warn" : "fail";
}

std::vector<Finding> ExamineAll(const DoctorFlags& flags) {
  std::vector<Finding> findings = ExamineMachine();
  for (auto part : {ExamineGpu(), ExamineLibraries()}) {
    findings.insert(findings.end(), part.begin(), part.end());
  }
  findings.push_back(ExamineExecutor());
  for (const std::string& address : flags.listen) {
    findings.push_back(ExaminePort(address));
    const Finding security = ExamineListenSecurity(address, flags.tls);
    if (security.verdict != Verdict::kOk) findings.push_back(security);
  }
  if (flags.listen.empty()) {
    // The defaults of actor and learner: taken, they stop nobody who chooses others.
    for (const char* address : {"127.0.0.1:50051", "127.0.0.1:9090", "127.0.0.1:9091"}) {
      findings.push_back(ExaminePort(address));
      if (findings.back().verdict == Verdict::kFail) findings.back().verdict = Verdict::kWarn;
    }
  }
  findings.push_back(ExamineFolder("cache folder", CacheFolder()));
  findings.push_back(ExamineFolder("output folder", flags.out));
  findings.push_back(ExamineCheckpoints(flags.out));
  if (!flags.data.empty()) findings.push_back(ExamineDataset(flags.data));
  if (!flags.tls.tls_certificate().empty() || !flags.tls.tls_ca().empty()) {
    findings.push_back(ExamineCertificates(flags.tls));
  }
  for (const std::string& actor : flags.actors) {
    findings.push_back(ExamineActor(actor, flags.tls, flags.data));
  }
  return findings;
}

absl::Status RunDoctor(DoctorFlags& flags) {
  VIXEN_RETURN_IF_ERROR(flags.config->Apply());
  const std::vector<Finding> findings = ExamineAll(flags);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<std::string> failed;
  for (const Finding& finding : findings) {
    if (finding.verdict == Verdict::kFail) failed.push_back(finding.subject);
    if (flags.json) {
      json.push_back({{"subject", finding.subject},
                      {"verdict", VerdictName(finding.verdict)},
                      {"text", finding.text},
                      {"remedy", finding.remedy}});
      continue;
    }
    std::cout << absl::StrFormat("%-4s  %-22s %s\n", VerdictName(finding.verdict), finding.subject,
                                 finding.text);
    if (!finding.remedy.empty()) std::cout << absl::StrFormat("%30s→ %s\n", "", finding.remedy);
  }
  if (flags.json) {
    std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  if (failed.empty()) return absl::OkStatus();
  std::string subjects;
  for (const std::string& subject : failed) {
    base::StrAppend(&subjects, subjects.empty() ? "" : ", ", subject);
  }
  return absl::FailedPreconditionError(
      base::StrCat(Plural(failed.size(), "finding"), " would stop a run here: ", subjects));
}

}  // namespace

void AddDoctor(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command =
      app.add_subcommand("doctor", "what would stop a run on this machine, each with its remedy");
  command->add_option("--data", flags->data, "dataset that the run will use");
  command->add_option("--listen", flags->listen,
                      "HOST:PORT that the run will listen on; may repeat");
  command->add_option("--out", flags->out, "folder that the run will write to (.)");
  command->add_option("--actor", flags->actors,
                      "HOST:PORT of an actor that a learner here will use; may repeat");
  flags->config =
      std::make_unique<config::ConfigFlags>(*command, flags->tls, config::ConfigFlags::File::kNone);
  command->add_flag("--json", flags->json, "as JSON on stdout");
  command->callback([flags, &selected] { selected = [flags] { return RunDoctor(*flags); }; });
}

}  // namespace vixen::tool
