// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/client_context.h>

#include <chrono>
#include <ctime>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/sha256.h"
#include "base/str_cat.h"
#include "market/dataset.h"
#include "proto/codec/checkpoint_head.h"
#include "proto/config/address.h"
#include "proto/transport/pem.h"
#include "tool/actor_channel.h"
#include "tool/doctor/finding.h"
#include "tool/format.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::tool {
namespace {

constexpr double kDay = 86'400;
constexpr double kSoonDays = 7;
constexpr double kAnswerSeconds = 3;

// What the actor's refusal means and what cures it.
Finding RefusalOf(const std::string& subject, const grpc::Status& status) {
  const std::string text = status.error_message();
  if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
    return {subject, Verdict::kFail, text,
            "give --tls_certificate a certificate whose URI names the role"};
  }
  if (text.find("is starting") != std::string::npos) {
    return {subject, Verdict::kWarn, text, "wait: a learner does so by itself"};
  }
  return {subject, Verdict::kFail, text, "read the actor's log"};
}

}  // namespace

Finding ExamineCertificates(const v1::TlsSettings& tls) {
  const auto pem = transport::ReadPem(tls);
  if (!pem.ok()) {
    return {"certificates", Verdict::kFail, std::string(pem.status().message()),
            "scripts/dev-certs.sh makes a set to compare with; certificate, key and authority must "
            "belong together and be valid now"};
  }
  if (pem->not_after == 0) return {"certificates", Verdict::kOk, "authorities only", ""};
  const double days =
      (static_cast<double>(pem->not_after) - static_cast<double>(time(nullptr))) / kDay;
  const std::string text = absl::StrFormat("good, %.0f days left", days);
  if (days < kSoonDays) {
    return {"certificates", Verdict::kWarn, text,
            "renew them: both ends take new files without a restart"};
  }
  return {"certificates", Verdict::kOk, text, ""};
}

Finding ExamineListenSecurity(const std::string& address, const v1::TlsSettings& tls) {
  const std::string subject = base::StrCat("listen ", address);
  const auto parsed = config::ParseAddress(address);
  if (!parsed.ok() || parsed->IsLoopback() || tls.insecure())
    return {subject, Verdict::kOk, "", ""};
  if (!tls.tls_certificate().empty() && !tls.tls_ca().empty())
    return {subject, Verdict::kOk, "", ""};
  return {
      subject, Verdict::kFail, "not loopback, and without certificates the actor refuses it",
      "give --tls_certificate, --tls_key and --tls_ca, or --insecure in a network that is yours"};
}

Finding ExamineActor(const std::string& address, const v1::TlsSettings& tls,
                     const std::string& dataset) {
  const std::string subject = base::StrCat("actor ", address);
  const auto channel = ConnectToActor(address, tls, kAnswerSeconds);
  if (!channel.ok()) {
    return {subject, Verdict::kFail, std::string(channel.status().message()),
            "start vixen-actor, open the port in the network policy, and with TLS give its "
            "authority (--tls_ca): a handshake that fails looks the same"};
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(3));
  v1::GetInfoResponse info;
  const grpc::Status status =
      v1::Actor::NewStub(*channel)->GetInfo(&context, v1::GetInfoRequest(), &info);
  if (!status.ok()) return RefusalOf(subject, status);
  if (!dataset.empty()) {
    const auto own = market::Dataset::Load(dataset);
    const std::string theirs = absl::BytesToHexString(info.dataset().fingerprint());
    if (own.ok() && base::ToHex((*own)->fingerprint()) != theirs) {
      return {
          subject, Verdict::kFail,
          base::StrCat("has dataset ", theirs.substr(0, 16), "…, ", dataset, " is ",
                       base::ToHex((*own)->fingerprint()).substr(0, 16), "…"),
          "give both the same file, or leave the learner's --dataset out: it fetches the actor's"};
    }
  }
  return {subject, Verdict::kOk,
          base::StrCat("version ", info.version(), ", ", info.executor(), ", ",
                       info.draining() ? "draining" : "ready"),
          ""};
}

Finding ExamineCheckpoints(const std::string& out) {
  std::filesystem::path newest;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(out) / "checkpoints", ignored)) {
    if (!entry.is_directory(ignored) || entry.path().has_extension()) continue;
    newest = std::max(newest, entry.path());
  }
  if (newest.empty()) return {"checkpoints", Verdict::kOk, "none: --resume begins anew", ""};
  const absl::Status whole = codec::VerifyCheckpoint(newest.string());
  if (whole.ok()) {
    return {"checkpoints", Verdict::kOk, base::StrCat(newest.string(), " is whole"), ""};
  }
  return {"checkpoints", Verdict::kFail, std::string(whole.message()),
          "--resume previous_ok goes on from the one before it"};
}

}  // namespace vixen::tool
