// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/convert.h"
#include "proto/transport/channel.h"
#include "tool/actor_channel.h"
#include "tool/inspect/describe.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::tool {
namespace {

const char* PrecisionName(v1::Precision precision) {
  switch (precision) {
    case v1::PRECISION_FP32:
      return "fp32";
    case v1::PRECISION_TF32:
      return "tf32";
    case v1::PRECISION_FP16:
      return "fp16";
    default:
      return "unknown";
  }
}

Json PoliciesOf(const v1::GetInfoResponse& info) {
  Json policies = Json::array();
  for (const v1::PolicyInfo& policy : info.policies()) {
    policies.push_back({{"policy", policy.policy()},
                        {"online", policy.online_version()},
                        {"target", policy.target_version()},
                        {"curiosity", policy.curiosity_version()},
                        {"epsilon", policy.epsilon()},
                        {"launches", policy.launches()},
                        {"batches", policy.batches()},
                        {"waiting_for", policy.waiting_for()}});
  }
  return policies;
}

// Batches; the rows follow in a second table, so that both fit a terminal.
Json SheetsOf(const v1::GetBalanceResponse& balance, bool rows) {
  const auto amount = [rows](const v1::Amount& value) {
    return rows ? value.rows() : value.batches();
  };
  Json sheets = Json::array();
  for (const v1::BalanceSheet& sheet : balance.sheets()) {
    uint64_t dropped = 0;
    for (const auto& [reason, value] : sheet.dropped()) dropped += amount(value);
    sheets.push_back({{"policy", sheet.policy()},
                      {"group", sheet.group()},
                      {"offered", amount(sheet.offered())},
                      {"durable", amount(sheet.durable())},
                      {"acknowledged", amount(sheet.acknowledged())},
                      {"in_flight", amount(sheet.in_flight())},
                      {"retained", amount(sheet.retained())},
                      {"dropped", dropped},
                      {"not_offered", amount(sheet.not_offered())}});
  }
  return sheets;
}

// Whether every sheet adds up, in batches and in rows.
bool Balanced(const v1::GetBalanceResponse& balance) {
  for (const v1::BalanceSheet& sheet : balance.sheets()) {
    uint64_t batches = 0;
    uint64_t rows = 0;
    const auto add = [&](const v1::Amount& amount) {
      batches += amount.batches();
      rows += amount.rows();
    };
    for (const v1::Amount* amount :
         {&sheet.durable(), &sheet.acknowledged(), &sheet.in_flight(), &sheet.retained()}) {
      add(*amount);
    }
    for (const auto& [reason, amount] : sheet.dropped()) add(amount);
    if (batches != sheet.offered().batches() || rows != sheet.offered().rows()) return false;
  }
  return true;
}

Json DroppedOf(const v1::GetBalanceResponse& balance) {
  Json dropped = Json::array();
  for (const v1::BalanceSheet& sheet : balance.sheets()) {
    for (const auto& [reason, value] : sheet.dropped()) {
      if (value.batches() == 0) continue;
      dropped.push_back({{"policy", sheet.policy()},
                         {"group", sheet.group()},
                         {"reason", reason},
                         {"batches", value.batches()},
                         {"rows", value.rows()}});
    }
  }
  return dropped;
}

}  // namespace

absl::StatusOr<Json> DescribeActor(const std::string& address, const v1::TlsSettings& tls) {
  VIXEN_ASSIGN_OR_RETURN(const auto channel, ConnectToActor(address, tls));
  const auto stub = v1::Actor::NewStub(channel);
  v1::GetInfoResponse info;
  v1::GetBalanceResponse balance;
  {
    grpc::ClientContext context;
    transport::SetDeadline(context, kAnswerDeadline);
    VIXEN_RETURN_IF_ERROR(
        FromGrpc(stub->GetInfo(&context, v1::GetInfoRequest(), &info), "GetInfo", address));
  }
  {
    grpc::ClientContext context;
    transport::SetDeadline(context, kAnswerDeadline);
    VIXEN_RETURN_IF_ERROR(FromGrpc(stub->GetBalance(&context, v1::GetBalanceRequest(), &balance),
                                   "GetBalance", address));
  }
  const v1::DatasetInfo& dataset = info.dataset();
  Json json = {{"kind", "actor"},
               {"address", address},
               {"version", info.version()},
               {"run_id", base::StrCat(absl::Hex(info.run_id(), absl::kZeroPad16))},
               {"uptime_seconds", info.uptime_seconds()},
               {"draining", info.draining()},
               {"executor", info.executor()},
               {"device", info.device()},
               {"algorithm", base::StrCat(info.algorithm(), " (", info.algorithm_reason(), ")")},
               {"precision", PrecisionName(info.precision())},
               {"episodes", info.episodes()},
               {"steps", info.steps()},
               {"architecture", codec::FromProto(info.architecture()).Describe()},
               {"dataset",
                {{"source", dataset.source()},
                 {"bars", dataset.bars()},
                 {"range", base::StrCat(dataset.begin(), ":", dataset.end())},
                 {"segments", dataset.segments()},
                 {"fingerprint", absl::BytesToHexString(dataset.fingerprint())},
                 {"scaler_fingerprint", absl::BytesToHexString(dataset.scaler_fingerprint())}}}};
  json["policies"] = PoliciesOf(info);
  json["balance_batches"] = SheetsOf(balance, false);
  json["balance_rows"] = SheetsOf(balance, true);
  json["balanced"] = Balanced(balance);
  if (Json dropped = DroppedOf(balance); !dropped.empty()) json["dropped"] = std::move(dropped);
  return json;
}

}  // namespace vixen::tool
