// SPDX-License-Identifier: Apache-2.0
// vixen log-level, vixen drain: what an operator asks a running daemon for.
#include <grpcpp/client_context.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_flags.h"
#include "tool/actor_channel.h"
#include "tool/command.h"
#include "vixen/v1/actor.grpc.pb.h"
#include "vixen/v1/learner.grpc.pb.h"

namespace vixen::tool {
namespace {

constexpr std::chrono::seconds kCallTime{10};

struct AdminFlags {
  std::string level;
  std::string actor;
  std::string learner;
  v1::TlsSettings tls;
  std::unique_ptr<config::ConfigFlags> config;
};

// Calls `method` of the service `Stub` at an address.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(
    const AdminFlags& flags, const std::string& address,
    std::unique_ptr<Stub> (*make)(const std::shared_ptr<grpc::ChannelInterface>&,
                                  const grpc::StubOptions&),
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), const char* name,
    const Request& request) {
  VIXEN_ASSIGN_OR_RETURN(const auto channel, ConnectToActor(address, flags.tls));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTime);
  Response response;
  const std::unique_ptr<Stub> stub = make(channel, grpc::StubOptions());
  VIXEN_RETURN_IF_ERROR(
      FromGrpc((stub.get()->*method)(&context, request, &response), name, address));
  return response;
}

absl::Status RunLogLevel(AdminFlags& flags) {
  if (flags.actor.empty() == flags.learner.empty()) {
    return base::UsageError("give either --actor HOST:PORT or --learner HOST:PORT");
  }
  VIXEN_RETURN_IF_ERROR(flags.config->Apply());
  v1::SetLogLevelRequest request;
  request.set_level(flags.level);
  VIXEN_ASSIGN_OR_RETURN(const v1::SetLogLevelResponse response,
                         flags.learner.empty()
                             ? Call(flags, flags.actor, &v1::Admin::NewStub,
                                    &v1::Admin::Stub::SetLogLevel, "SetLogLevel", request)
                             : Call(flags, flags.learner, &v1::Learner::NewStub,
                                    &v1::Learner::Stub::SetLogLevel, "SetLogLevel", request));
  std::cout << "log level " << flags.level << ", before " << response.previous() << "\n";
  return absl::OkStatus();
}

absl::Status RunDrain(AdminFlags& flags) {
  VIXEN_RETURN_IF_ERROR(flags.config->Apply());
  VIXEN_RETURN_IF_ERROR(Call(flags, flags.actor, &v1::Admin::NewStub, &v1::Admin::Stub::Drain,
                             "Drain", v1::DrainRequest())
                            .status());
  std::cout << "draining\n";
  return absl::OkStatus();
}

CLI::App* AddCommand(CLI::App& app, const char* name, const char* help, AdminFlags& flags) {
  CLI::App* command = app.add_subcommand(name, help);
  flags.config =
      std::make_unique<config::ConfigFlags>(*command, flags.tls, config::ConfigFlags::File::kNone);
  return command;
}

}  // namespace

void AddAdmin(CLI::App& app, Selected& selected) {
  auto level = std::make_shared<AdminFlags>();
  CLI::App* command =
      AddCommand(app, "log-level", "changes the log level of a running actor or learner", *level);
  command->add_option("level", level->level, "trace, debug, info, warn or error")->required();
  command->add_option("--actor", level->actor, "HOST:PORT of an actor (role admin)");
  command->add_option("--learner", level->learner, "HOST:PORT of a learner's listen");
  command->callback([level, &selected] { selected = [level] { return RunLogLevel(*level); }; });

  auto drain = std::make_shared<AdminFlags>();
  command = AddCommand(app, "drain", "stops a running actor in order, as SIGTERM does", *drain);
  command->add_option("--actor", drain->actor, "HOST:PORT of the actor (role admin)")->required();
  command->callback([drain, &selected] { selected = [drain] { return RunDrain(*drain); }; });
}

}  // namespace vixen::tool
