// SPDX-License-Identifier: Apache-2.0
#include "tool/audit/audit.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/escaping.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/executors/market_view.h"
#include "kernels/verify/launch_compare.h"
#include "kernels/verify/launch_replay.h"
#include "proto/codec/convert.h"
#include "proto/config/leaf.h"
#include "proto/config/settings.h"
#include "proto/config/value_text.h"

namespace vixen::tool {
namespace {

using kernels::WeightsKind;

constexpr size_t kTriedVersions = 16;  // of one kind, the nearest ones

absl::Status CheckExpected(const Auditor& auditor, const v1::EnvironmentSettings& settings) {
  for (const config::Leaf& leaf : config::LeavesOf(*settings.GetDescriptor())) {
    for (const auto& [name, value] : auditor.expected) {
      const std::string recorded = config::ValuesText(settings, leaf);
      if (leaf.name() != name || recorded == value) continue;
      return absl::FailedPreconditionError(
          base::StrCat("setting ", name, ": recorded ", recorded, ", expected ", value));
    }
  }
  return absl::OkStatus();
}

template <typename Digest>
absl::Status CheckFingerprint(std::string_view what, const std::string& recorded,
                              const Digest& own) {
  if (recorded == std::string(own.begin(), own.end())) return absl::OkStatus();
  return absl::FailedPreconditionError(base::StrCat("recorded on ", what, " ",
                                                    absl::BytesToHexString(recorded),
                                                    ", --data has ", base::ToHex(own)));
}

// The launch as the header and the settings describe it.
absl::StatusOr<kernels::CollectorOptions> OptionsOf(const Auditor& auditor,
                                                    const codec::RecordedBatch& recorded) {
  const v1::BatchHeader& header = recorded.header;
  const market::Dataset& dataset = *auditor.dataset;
  VIXEN_RETURN_IF_ERROR(CheckFingerprint("a dataset of fingerprint", recorded.dataset_fingerprint,
                                         dataset.fingerprint()));
  VIXEN_RETURN_IF_ERROR(CheckFingerprint(
      "a normalisation of fingerprint", recorded.scaler_fingerprint, dataset.scaler_fingerprint()));
  VIXEN_ASSIGN_OR_RETURN(const v1::EnvironmentSettings settings,
                         config::ParseSettingsBytes(recorded.settings, "recorded settings"));
  VIXEN_RETURN_IF_ERROR(CheckExpected(auditor, settings));
  if (settings.episodes() != header.episodes() || settings.steps() != header.steps()) {
    return absl::InvalidArgumentError(
        base::StrCat("setting episodes × steps is ", settings.episodes(), " × ", settings.steps(),
                     ", the batch holds ", header.episodes(), " × ", header.steps()));
  }
  VIXEN_ASSIGN_OR_RETURN(const market::BarRange range,
                         dataset.EffectiveRange(settings.begin(), settings.end()));
  kernels::CollectorOptions options;
  options.settings = config::ToEnvSettings(settings);
  options.architecture = codec::FromProto(recorded.architecture);
  VIXEN_RETURN_IF_ERROR(options.architecture.Check());
  options.episodes = header.episodes();
  options.steps = header.steps();
  options.market = kernels::MarketViewOf(dataset, range);
  if (options.settings.carry_over && recorded.batch.start_states.empty()) {
    return absl::InvalidArgumentError(
        "made with carry_over, but recorded without the slot states at its start; vixen collect "
        "--out records them");
  }
  return options;
}

// The kind of a device: without the number of threads, which changes no result.
std::string DeviceKind(const std::string& device) {
  const size_t comma = device.rfind(", ");
  const bool threads = device.ends_with(" thread") || device.ends_with(" threads");
  return threads && comma != std::string::npos ? device.substr(0, comma) : device;
}

// One audit: the executor and the weights that it holds now.
class LaunchAudit {
 public:
  LaunchAudit(const Auditor& auditor, codec::RecordedBatch& recorded,
              kernels::CollectorOptions options)
      : auditor_(auditor),
        recorded_(recorded),
        header_(recorded.header),
        options_(options),
        versions_{header_.online_version(), header_.target_version(), header_.curiosity_version()},
        computed_(options_.episodes, options_.steps, recorded.batch.with_terms()) {}

  absl::StatusOr<AuditResult> Run() {
    VIXEN_RETURN_IF_ERROR(ReadWeights());
    VIXEN_ASSIGN_OR_RETURN(const kernels::Precision precision,
                           codec::FromProto(header_.precision()));
    const bool asked = auditor_.precision != kernels::Precision::kAuto;
    options_.precision = asked ? auditor_.precision : precision;
    VIXEN_ASSIGN_OR_RETURN(collector_, MakeCollector());
    const kernels::CollectorInfo& info = collector_->info();
    const bool same = DeviceKind(base::StrCat(info.executor, ": ", info.device)) ==
                          DeviceKind(header_.device()) &&
                      info.precision == precision;
    for (size_t kind = 0; kind < parameters_.size(); ++kind) {
      if (!Needed(kind)) continue;
      VIXEN_RETURN_IF_ERROR(Load(parameters_[kind]));
    }
    VIXEN_RETURN_IF_ERROR(Launch());
    std::optional<kernels::LaunchFault> fault =
        kernels::FirstDifference(recorded_.batch, computed_);
    if (!fault) {
      const std::string statistic = OtherStatistic();
      if (!statistic.empty()) return AuditResult{false, statistic};
      return AuditResult{true, base::StrCat("equal bytes, ", recorded_.batch.rows(), " rows")};
    }
    if (!same) return ReplaySteps(info, precision);
    std::string text = fault->Describe(options_.steps);
    VIXEN_ASSIGN_OR_RETURN(const std::string version, VersionThatFits());
    if (!version.empty()) base::StrAppend(&text, "; ", version);
    return AuditResult{false, std::move(text)};
  }

 private:
  bool Needed(size_t kind) const {
    return static_cast<WeightsKind>(kind) != WeightsKind::kCuriosity ||
           options_.settings.curiosity_max > 0;
  }

  absl::Status ReadWeights() {
    for (size_t kind = 0; kind < parameters_.size(); ++kind) {
      parameters_[kind] = {options_.architecture, static_cast<WeightsKind>(kind), {}};
      if (!Needed(kind)) continue;
      VIXEN_ASSIGN_OR_RETURN(parameters_[kind], Read(kind, versions_[kind]));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<kernels::Parameters> Read(size_t kind, uint64_t version) const {
    VIXEN_ASSIGN_OR_RETURN(kernels::ArchivedWeights weights,
                           auditor_.weights.Read(header_.policy(), static_cast<WeightsKind>(kind),
                                                 version, options_.architecture));
    const std::string scaler = absl::BytesToHexString(recorded_.scaler_fingerprint);
    if (!weights.scaler_fingerprint.empty() && weights.scaler_fingerprint != scaler) {
      return absl::FailedPreconditionError(
          base::StrCat(kernels::WeightsKindName(static_cast<WeightsKind>(kind)), " version ",
                       version, " was trained with scaler fingerprint ", weights.scaler_fingerprint,
                       ", the batch has ", scaler));
    }
    return std::move(weights.parameters);
  }

  // At the recorded precision where this executor has it.
  absl::StatusOr<std::unique_ptr<kernels::Collector>> MakeCollector() {
    absl::StatusOr<std::unique_ptr<kernels::Collector>> made = auditor_.make(options_);
    if (made.ok() || auditor_.precision != kernels::Precision::kAuto) return made;
    options_.precision = kernels::Precision::kAuto;
    return auditor_.make(options_);
  }

  absl::Status Load(const kernels::Parameters& parameters) {
    VIXEN_RETURN_IF_ERROR(collector_->StageWeights(parameters).status());
    collector_->CommitWeights(parameters.kind);
    return absl::OkStatus();
  }

  absl::Status Launch() {
    const kernels::LaunchRequest request{.seed = header_.run_seed(),
                                         .launch = header_.launch(),
                                         .epsilon = header_.epsilon(),
                                         .slot_states = recorded_.batch.start_states};
    VIXEN_RETURN_IF_ERROR(collector_->Launch(request, computed_));
    return collector_->Wait(computed_);
  }

  absl::StatusOr<AuditResult> ReplaySteps(const kernels::CollectorInfo& info,
                                          kernels::Precision precision) {
    const kernels::LaunchReplay replay =
        kernels::ReplayLaunch(options_, parameters_[0], parameters_[1], parameters_[2],
                              {.seed = header_.run_seed(),
                               .launch = header_.launch(),
                               .epsilon = header_.epsilon(),
                               .precision = precision,
                               .slot_states = recorded_.batch.start_states},
                              recorded_.batch);
    if (replay.fault) return AuditResult{false, replay.fault->Describe(options_.steps)};
    return AuditResult{true,
                       base::StrCat("step by step, ", replay.rows, " rows, ", replay.other_actions,
                                    " near ties taken otherwise (recorded on ", header_.device(),
                                    ", this is ", info.executor, ": ", info.device, ")")};
  }

  // "" when every statistic of the trailer is what was computed.
  std::string OtherStatistic() const {
    const v1::LaunchStatistics ours = recorded_.trailer.statistics();
    const v1::LaunchStatistics theirs = codec::ToProto(computed_.statistics);
    const auto& descriptor = *ours.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *descriptor.field(i);
      const int count = std::max(config::CountOf(theirs, field), field.is_repeated() ? 0 : 1);
      for (int k = 0; k < count; ++k) {
        const std::string recorded = config::ValueText(ours, field, k);
        const std::string computed = config::ValueText(theirs, field, k);
        if (recorded == computed) continue;
        return base::StrCat("statistic ", field.name(),
                            field.is_repeated() ? base::StrCat("[", k, "]") : "", ": recorded ",
                            recorded, ", computed ", computed);
      }
    }
    return "";
  }

  // The version of the archive, other than the named one, that gives the recorded bytes; "" when
  // none of the nearest does.
  absl::StatusOr<std::string> VersionThatFits() {
    for (size_t kind = 0; kind < parameters_.size(); ++kind) {
      if (!Needed(kind)) continue;
      std::vector<uint64_t> versions =
          auditor_.weights.Versions(header_.policy(), static_cast<WeightsKind>(kind));
      const auto distance = [&](uint64_t v) {
        return v > versions_[kind] ? v - versions_[kind] : versions_[kind] - v;
      };
      std::sort(versions.begin(), versions.end(),
                [&](uint64_t a, uint64_t b) { return distance(a) < distance(b); });
      if (versions.size() > kTriedVersions + 1) versions.resize(kTriedVersions + 1);
      for (const uint64_t version : versions) {
        if (version == versions_[kind]) continue;
        VIXEN_ASSIGN_OR_RETURN(const kernels::Parameters other, Read(kind, version));
        VIXEN_RETURN_IF_ERROR(Load(other));
        VIXEN_RETURN_IF_ERROR(Launch());
        if (kernels::FirstDifference(recorded_.batch, computed_)) continue;
        return base::StrCat("these rows were made with ",
                            kernels::WeightsKindName(static_cast<WeightsKind>(kind)),
                            " weights version ", version, ", the header names ", versions_[kind]);
      }
      VIXEN_RETURN_IF_ERROR(Load(parameters_[kind]));
    }
    return std::string();
  }

  const Auditor& auditor_;
  codec::RecordedBatch& recorded_;
  const v1::BatchHeader& header_;
  kernels::CollectorOptions options_;
  const std::array<uint64_t, 3> versions_;
  std::array<kernels::Parameters, 3> parameters_;
  std::unique_ptr<kernels::Collector> collector_;
  kernels::Batch computed_;
};

}  // namespace

absl::StatusOr<AuditResult> Audit(const Auditor& auditor, codec::RecordedBatch& recorded) {
  VIXEN_ASSIGN_OR_RETURN(kernels::CollectorOptions options, OptionsOf(auditor, recorded));
  return LaunchAudit(auditor, recorded, options).Run();
}

}  // namespace vixen::tool
