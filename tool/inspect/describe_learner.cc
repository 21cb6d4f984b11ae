// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/transport/channel.h"
#include "tool/actor_channel.h"
#include "tool/inspect/describe.h"
#include "vixen/v1/learner.grpc.pb.h"

namespace vixen::tool {
namespace {

// Batches, or rows: two tables that fit a terminal.
Json SheetsOf(const v1::LearnerBalanceResponse& balance, bool rows) {
  const auto amount = [rows](const v1::Amount& value) {
    return rows ? value.rows() : value.batches();
  };
  Json sheets = Json::array();
  for (const v1::LearnerSheet& sheet : balance.sheets()) {
    uint64_t rejected = 0;
    for (const auto& [reason, value] : sheet.rejected()) rejected += amount(value);
    sheets.push_back({{"actor", sheet.actor()},
                      {"run_id", base::StrCat(absl::Hex(sheet.run_id(), absl::kZeroPad16))},
                      {"run", sheet.ended() ? "ended" : "live"},
                      {"received", amount(sheet.received())},
                      {"inserted", amount(sheet.inserted())},
                      {"duplicate", amount(sheet.duplicate())},
                      {"rejected", rejected},
                      {"durable", amount(sheet.durable())},
                      {"lost_with_predecessor", amount(sheet.lost_with_predecessor())}});
  }
  return sheets;
}

Json RejectedOf(const v1::LearnerBalanceResponse& balance) {
  Json rejected = Json::array();
  for (const v1::LearnerSheet& sheet : balance.sheets()) {
    for (const auto& [reason, value] : sheet.rejected()) {
      rejected.push_back({{"actor", sheet.actor()},
                          {"run_id", base::StrCat(absl::Hex(sheet.run_id(), absl::kZeroPad16))},
                          {"reason", reason},
                          {"batches", value.batches()},
                          {"rows", value.rows()}});
    }
  }
  return rejected;
}

// Whether received = inserted + duplicate + rejected on every sheet, in batches and in rows.
bool Balanced(const v1::LearnerBalanceResponse& balance) {
  for (const v1::LearnerSheet& sheet : balance.sheets()) {
    uint64_t batches = sheet.inserted().batches() + sheet.duplicate().batches();
    uint64_t rows = sheet.inserted().rows() + sheet.duplicate().rows();
    for (const auto& [reason, amount] : sheet.rejected()) {
      batches += amount.batches();
      rows += amount.rows();
    }
    if (batches != sheet.received().batches() || rows != sheet.received().rows()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Json> DescribeLearner(const std::string& address) {
  const auto connected = ConnectToActor(address, v1::TlsSettings());
  if (absl::IsUnavailable(connected.status())) {
    return absl::UnavailableError(base::StrCat("no learner answers at ", address,
                                               "; is vixen-learner running with --listen ", address,
                                               "?"));
  }
  VIXEN_ASSIGN_OR_RETURN(const auto channel, connected);
  const auto stub = v1::Learner::NewStub(channel);
  v1::LearnerInfoResponse info;
  v1::LearnerBalanceResponse balance;
  {
    grpc::ClientContext context;
    transport::SetDeadline(context, kAnswerDeadline);
    VIXEN_RETURN_IF_ERROR(
        FromGrpc(stub->GetInfo(&context, v1::LearnerInfoRequest(), &info), "GetInfo", address));
  }
  {
    grpc::ClientContext context;
    transport::SetDeadline(context, kAnswerDeadline);
    VIXEN_RETURN_IF_ERROR(FromGrpc(
        stub->GetBalance(&context, v1::LearnerBalanceRequest(), &balance), "GetBalance", address));
  }
  Json json = {{"kind", "learner"},
               {"address", address},
               {"version", info.version()},
               {"policy", info.policy()},
               {"device", info.device()},
               {"updates", info.updates()},
               {"transitions", info.transitions()},
               {"balance_batches", SheetsOf(balance, false)},
               {"balance_rows", SheetsOf(balance, true)},
               {"balanced", Balanced(balance)}};
  if (Json rejected = RejectedOf(balance); !rejected.empty())
    json["rejected"] = std::move(rejected);
  return json;
}

}  // namespace vixen::tool
