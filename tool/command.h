// SPDX-License-Identifier: Apache-2.0
// The commands of `vixen`. Each Add function registers one subcommand with its options and puts
// what is to be run into `selected` when the user chose it; main() runs it and turns its status
// into the exit code (base/exit_code.h).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/status.h"

namespace vixen::tool {

using Selected = std::function<absl::Status()>;

void AddImport(CLI::App& app, Selected& selected);
void AddSynth(CLI::App& app, Selected& selected);
void AddScore(CLI::App& app, Selected& selected);
void AddInspect(CLI::App& app, Selected& selected);
void AddVerify(CLI::App& app, Selected& selected);
void AddCollect(CLI::App& app, Selected& selected);
void AddAudit(CLI::App& app, Selected& selected);
void AddConfig(CLI::App& app, Selected& selected);
void AddEval(CLI::App& app, Selected& selected);
void AddReport(CLI::App& app, Selected& selected);
void AddBench(CLI::App& app, Selected& selected);
void AddDoctor(CLI::App& app, Selected& selected);
void AddCompletion(CLI::App& app, Selected& selected);
void AddAdmin(CLI::App& app, Selected& selected);  // log-level, drain

}  // namespace vixen::tool
