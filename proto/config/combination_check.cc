// SPDX-License-Identifier: Apache-2.0
#include "proto/config/combination_check.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include "absl/strings/str_join.h"
#include "base/str_cat.h"
#include "proto/config/address.h"

namespace vixen::config {
namespace {

using base::StrCat;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <typename... Parts>
void Add(std::vector<Fault>& faults, const char* setting, const Parts&... parts) {
  faults.push_back({setting, StrCat(parts...)});
}

void CheckWord(const char* setting, const std::string& value,
               std::initializer_list<const char*> allowed, std::vector<Fault>& faults) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  Add(faults, setting, setting, " is \"", value, "\", allowed: ", absl::StrJoin(allowed, ", "));
}

void CheckName(const char* setting, const std::string& value, std::vector<Fault>& faults) {
  if (IsName(value)) return;
  Add(faults, setting, setting, " is \"", value, "\", allowed: 1 … 64 of A-Z a-z 0-9 . _ -");
}

void CheckEnvironment(const v1::EnvironmentSettings& environment, std::vector<Fault>& faults) {
  if (environment.carry_over() && !environment.recycle()) {
    Add(faults, "carry_over",
        "carry_over is true with recycle false: a slot that idles has no episode "
        "to carry over; set recycle true or carry_over false");
  }
  for (int i = 1; i < environment.actions_size(); ++i) {
    if (environment.actions(i - 1) < environment.actions(i)) continue;
    Add(faults, "actions", "actions[", i, "] is ", environment.actions(i), " after ",
        environment.actions(i - 1), ": list each action once, ascending");
    break;
  }
  const uint64_t begin = environment.begin();
  const uint64_t end = environment.end();
  if (end != 0 && (begin >= end || end - begin < 2)) {
    Add(faults, "begin", "begin is ", begin, " and end is ", end,
        ": the range needs at least 2 bars");
  }
}

void CheckReplay(const v1::ReplaySettings& replay, std::vector<Fault>& faults) {
  if (replay.beta_start() > replay.beta_end()) {
    Add(faults, "beta_start", "beta_start is ", replay.beta_start(), ", above beta_end ",
        replay.beta_end());
  }
}

void CheckTrainer(const v1::TrainerSettings& trainer, std::vector<Fault>& faults) {
  if (trainer.weight_decay() > 0 && trainer.optimizer() != v1::TrainerSettings::ADAMW) {
    Add(faults, "weight_decay", "weight_decay is ", trainer.weight_decay(),
        " with optimizer ADAM, which has none; set optimizer ADAMW or weight_decay 0");
  }
}

void CheckLog(const v1::LogSettings& log, std::vector<Fault>& faults) {
  CheckWord("log_level", log.log_level(), {"trace", "debug", "info", "warn", "error"}, faults);
}

void CheckTls(const v1::TlsSettings& tls, std::vector<Fault>& faults) {
  if (!tls.tls_certificate().empty() && tls.tls_key().empty()) {
    Add(faults, "tls_certificate", "tls_certificate is \"", tls.tls_certificate(),
        "\" without tls_key");
  }
  if (tls.tls_certificate().empty() && !tls.tls_key().empty()) {
    Add(faults, "tls_key", "tls_key is \"", tls.tls_key(), "\" without tls_certificate");
  }
}

// The address when it is one; a fault otherwise.
absl::StatusOr<Address> CheckAddress(const char* setting, const std::string& text,
                                     std::vector<Fault>& faults) {
  absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) Add(faults, setting, setting, ": ", address.status().message());
  return address;
}

struct Listening {
  const char* setting;
  const std::string& text;
};

// What is empty or no address is left to the other checks.
void CheckApart(std::initializer_list<Listening> all, std::vector<Fault>& faults) {
  for (const Listening& one : all) {
    const absl::StatusOr<Address> address = ParseAddress(one.text);
    if (!address.ok() || address->port == 0) continue;
    for (const Listening* before = all.begin(); before != &one; ++before) {
      const absl::StatusOr<Address> other = ParseAddress(before->text);
      if (!other.ok() || other->port != address->port || other->host != address->host) continue;
      Add(faults, one.setting, one.setting, " and ", before->setting, " are both \"", one.text,
          "\"");
    }
  }
}

void CheckActor(const v1::ActorConfig& actor, std::vector<Fault>& faults) {
  const v1::TlsSettings& tls = actor.tls();
  const auto listen = CheckAddress("listen", actor.listen(), faults);
  if (listen.ok() && !listen->IsLoopback() && tls.tls_certificate().empty() && !tls.insecure()) {
    Add(faults, "listen", "listen is \"", actor.listen(),
        "\", not loopback, without tls_certificate and with insecure false; set tls_certificate "
        "and "
        "tls_key, or insecure true");
  }
  if (!tls.tls_ca().empty() && tls.tls_certificate().empty()) {
    Add(faults, "tls_ca", "tls_ca is \"", tls.tls_ca(),
        "\" without tls_certificate: peers cannot be "
        "checked on a connection without TLS");
  }
  if (!tls.tls_certificate().empty() && tls.tls_ca().empty() && !tls.insecure()) {
    Add(faults, "tls_certificate", "tls_certificate is \"", tls.tls_certificate(),
        "\" without tls_ca: clients have no role then and anyone may push weights; set tls_ca, or "
        "insecure true");
  }
  if (!actor.health_listen().empty()) {
    (void)CheckAddress("health_listen", actor.health_listen(), faults);
  }
  if (!actor.metrics_listen().empty()) {
    (void)CheckAddress("metrics_listen", actor.metrics_listen(), faults);
  }
  CheckApart({{"listen", actor.listen()},
              {"metrics_listen", actor.metrics_listen()},
              {"health_listen", actor.health_listen()}},
             faults);
  const uint64_t trunk = 4ull * actor.network().hidden1() * actor.network().hidden2();
  if (actor.stream().max_weights_bytes() < trunk) {
    Add(faults, "max_weights_bytes", "max_weights_bytes is ", actor.stream().max_weights_bytes(),
        ", below the ", trunk, " bytes of hidden1 ", actor.network().hidden1(), " × hidden2 ",
        actor.network().hidden2(), " alone: no push could be accepted");
  }
}

void CheckLearner(const v1::LearnerConfig& learner, std::vector<Fault>& faults) {
  const v1::TlsSettings& tls = learner.tls();
  std::set<std::string> seen;
  for (const std::string& text : learner.actor()) {
    const auto actor = CheckAddress("actor", text, faults);
    if (actor.ok() && actor->port == 0) Add(faults, "actor", "actor \"", text, "\" has port 0");
    if (actor.ok() && !actor->IsLoopback() && tls.tls_ca().empty() && !tls.insecure()) {
      Add(faults, "actor", "actor is \"", text,
          "\", not loopback, without tls_ca and with insecure false; set tls_ca, or insecure true");
    }
    if (!seen.insert(text).second) Add(faults, "actor", "actor \"", text, "\" is listed twice");
  }
  if (!learner.metrics_listen().empty()) {
    (void)CheckAddress("metrics_listen", learner.metrics_listen(), faults);
  }
  if (!learner.listen().empty()) {
    const auto listen = CheckAddress("listen", learner.listen(), faults);
    if (listen.ok() && !listen->IsLoopback()) {
      Add(faults, "listen", "listen is \"", learner.listen(),
          "\", not loopback: a learner tells of itself on its own machine only; set listen "
          "127.0.0.1:PORT");
    }
  }
  CheckApart({{"listen", learner.listen()}, {"metrics_listen", learner.metrics_listen()}}, faults);
  CheckName("policy", learner.policy(), faults);
  CheckName("group", learner.group(), faults);
  if (!learner.consumer().empty()) CheckName("consumer", learner.consumer(), faults);
  CheckWord("device", learner.device(), {"auto", "cpu", "cuda"}, faults);

  const uint64_t capacity = learner.replay().capacity();
  if (capacity < learner.trainer().batch_size()) {
    Add(faults, "capacity", "capacity is ", capacity, ", below batch_size ",
        learner.trainer().batch_size());
  }
  if (capacity < learner.limiter().min_size()) {
    Add(faults, "capacity", "capacity is ", capacity, ", below min_size ",
        learner.limiter().min_size(), ": the first update would never come");
  }
}

}  // namespace

void FindBadCombinations(const Message& effective, std::vector<Fault>& faults) {
  if (const auto* environment = dynamic_cast<const v1::EnvironmentSettings*>(&effective)) {
    CheckEnvironment(*environment, faults);
  } else if (const auto* replay = dynamic_cast<const v1::ReplaySettings*>(&effective)) {
    CheckReplay(*replay, faults);
  } else if (const auto* trainer = dynamic_cast<const v1::TrainerSettings*>(&effective)) {
    CheckTrainer(*trainer, faults);
  } else if (const auto* log = dynamic_cast<const v1::LogSettings*>(&effective)) {
    CheckLog(*log, faults);
  } else if (const auto* tls = dynamic_cast<const v1::TlsSettings*>(&effective)) {
    CheckTls(*tls, faults);
  } else if (const auto* actor = dynamic_cast<const v1::ActorConfig*>(&effective)) {
    CheckActor(*actor, faults);
  } else if (const auto* learner = dynamic_cast<const v1::LearnerConfig*>(&effective)) {
    CheckLearner(*learner, faults);
  }
  for (int i = 0; i < effective.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = effective.GetDescriptor()->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      FindBadCombinations(effective.GetReflection()->GetMessage(effective, field), faults);
    }
  }
}

}  // namespace vixen::config
