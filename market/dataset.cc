// SPDX-License-Identifier: Apache-2.0
#include "market/dataset.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/dataset_format.h"

namespace vixen::market {
namespace {

constexpr absl::string_view kFormat = "vixen-dataset";
constexpr absl::string_view kFormatVersion = "1";

// Keys of the metadata that the dataset itself writes; `extra_metadata` may not use them.
constexpr const char* kOwnKeys[] = {"format",      "format_version",     "feature_names", "source",
                                    "fingerprint", "scaler_fingerprint", "train_rows",    "sha256"};

absl::Status Named(const std::string& path, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(path, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

absl::StatusOr<std::string> RequiredKey(const std::map<std::string, std::string>& metadata,
                                        const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata has no `", key, "`: not a dataset written by vixen import or synth"));
  }
  return found->second;
}

absl::StatusOr<std::vector<std::string>> ParseNames(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> names;
  bool valid = json.is_array();
  for (size_t i = 0; valid && i < json.size(); ++i) {
    valid = json[i].is_string();
    if (valid) names.push_back(json[i].get<std::string>());
  }
  if (!valid) {
    return absl::InvalidArgumentError("metadata `feature_names` is not a JSON array of strings");
  }
  return names;
}

absl::Status CompareFingerprint(const std::map<std::string, std::string>& metadata, const char* key,
                                const base::Sha256Digest& computed) {
  VIXEN_ASSIGN_OR_RETURN(const std::string stored, RequiredKey(metadata, key));
  if (stored != base::ToHex(computed)) {
    return absl::DataLossError(absl::StrCat("metadata `", key, "` is ", stored,
                                            " but the contents give ", base::ToHex(computed),
                                            "; the file was changed after it was written"));
  }
  return absl::OkStatus();
}

}  // namespace

base::Sha256Digest Scaler::Fingerprint(std::span<const std::string> feature_names) const {
  base::Sha256 hash;
  hash.UpdateValue(static_cast<uint32_t>(feature_names.size()));
  for (const std::string& name : feature_names) {
    hash.Update(name);
    hash.Update("\n");
  }
  hash.UpdateValues(std::span<const double>(mean));
  hash.UpdateValues(std::span<const double>(scale));
  return hash.Finish();
}

void Dataset::ComputeFingerprints() {
  base::Sha256 hash;
  hash.UpdateValue(feature_count());
  hash.UpdateValue(bars());
  hash.UpdateValues(features_);
  hash.UpdateValues(targets_);
  hash.UpdateValues(last_);
  fingerprint_ = hash.Finish();
  scaler_fingerprint_ = scaler_.Fingerprint(feature_names_);
}

absl::StatusOr<std::map<std::string, std::string>> DatasetMetadata(
    std::span<const std::string> feature_names, const std::string& source,
    std::optional<uint64_t> train_rows, const base::Sha256Digest& fingerprint,
    const base::Sha256Digest& scaler_fingerprint, std::map<std::string, std::string> extra) {
  for (const char* key : kOwnKeys) {
    if (extra.contains(key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("extra metadata `", key, "` is a key of the format itself"));
    }
  }
  std::map<std::string, std::string> metadata = std::move(extra);
  metadata["format"] = std::string(kFormat);
  metadata["format_version"] = std::string(kFormatVersion);
  metadata["feature_names"] =
      nlohmann::json(std::vector<std::string>(feature_names.begin(), feature_names.end()))
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  metadata["source"] = source;
  metadata["fingerprint"] = base::ToHex(fingerprint);
  metadata["scaler_fingerprint"] = base::ToHex(scaler_fingerprint);
  if (train_rows) metadata["train_rows"] = absl::StrCat(*train_rows);
  return metadata;
}

absl::StatusOr<std::shared_ptr<const Dataset>> Dataset::Create(Parts parts) {
  std::shared_ptr<Dataset> dataset(new Dataset());
  dataset->owned_ = std::move(parts);
  Parts& owned = dataset->owned_;
  dataset->feature_names_ = std::move(owned.feature_names);
  dataset->features_ = owned.features;
  dataset->targets_ = owned.targets;
  dataset->last_ = owned.last;
  dataset->timestamp_ = owned.timestamp;
  dataset->scaler_ = std::move(owned.scaler);
  if (dataset->scaler_.mean.empty() && dataset->scaler_.scale.empty()) {
    dataset->scaler_.mean.assign(dataset->feature_names_.size(), 0.0);
    dataset->scaler_.scale.assign(dataset->feature_names_.size(), 1.0);
  }
  dataset->train_rows_ = owned.train_rows;
  dataset->source_ = owned.source;
  VIXEN_RETURN_IF_ERROR(dataset->Check());
  dataset->ComputeFingerprints();

  VIXEN_ASSIGN_OR_RETURN(
      dataset->metadata_,
      DatasetMetadata(dataset->feature_names_, dataset->source_, dataset->train_rows_,
                      dataset->fingerprint_, dataset->scaler_fingerprint_, owned.extra_metadata));
  return dataset;
}

absl::Status Dataset::ReadFrom(base::TensorFile file) {
  metadata_ = file.metadata();
  metadata_.erase("sha256");
  VIXEN_ASSIGN_OR_RETURN(const std::string format, RequiredKey(metadata_, "format"));
  VIXEN_ASSIGN_OR_RETURN(const std::string version, RequiredKey(metadata_, "format_version"));
  if (format != kFormat || version != kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat("format ", format, " version ", version,
                                                   " is not ", kFormat, " version ", kFormatVersion,
                                                   ", which this program reads"));
  }
  VIXEN_ASSIGN_OR_RETURN(const std::string names, RequiredKey(metadata_, "feature_names"));
  VIXEN_ASSIGN_OR_RETURN(feature_names_, ParseNames(names));
  const int64_t width = static_cast<int64_t>(feature_names_.size());
  VIXEN_ASSIGN_OR_RETURN(features_, file.Get<float>("features", {-1, width}));
  const int64_t bars = width == 0 ? 0 : static_cast<int64_t>(features_.size()) / width;
  VIXEN_ASSIGN_OR_RETURN(targets_, file.Get<float>("targets", {bars, 4}));
  VIXEN_ASSIGN_OR_RETURN(last_, file.Get<uint8_t>("last", {bars}));
  VIXEN_ASSIGN_OR_RETURN(timestamp_, file.Get<int64_t>("timestamp", {bars}));
  VIXEN_ASSIGN_OR_RETURN(const std::span<const double> mean,
                         file.Get<double>("feature_mean", {width}));
  VIXEN_ASSIGN_OR_RETURN(const std::span<const double> scale,
                         file.Get<double>("feature_scale", {width}));
  scaler_.mean.assign(mean.begin(), mean.end());
  scaler_.scale.assign(scale.begin(), scale.end());
  source_ = metadata_.contains("source") ? metadata_.at("source") : "";
  if (metadata_.contains("train_rows")) {
    uint64_t rows = 0;
    if (!absl::SimpleAtoi(metadata_.at("train_rows"), &rows)) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata `train_rows` = `", metadata_.at("train_rows"), "` is no number"));
    }
    train_rows_ = rows;
  }
  file_.emplace(std::move(file));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Dataset>> Dataset::Load(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(base::TensorFile file, base::TensorFile::Open(path));
  std::shared_ptr<Dataset> dataset(new Dataset());
  absl::Status status = dataset->ReadFrom(std::move(file));
  if (status.ok()) status = dataset->Check();
  if (status.ok()) {
    dataset->ComputeFingerprints();
    status = CompareFingerprint(dataset->metadata_, "fingerprint", dataset->fingerprint_);
  }
  if (status.ok()) {
    status =
        CompareFingerprint(dataset->metadata_, "scaler_fingerprint", dataset->scaler_fingerprint_);
  }
  if (!status.ok()) return Named(path, status);
  return dataset;
}

absl::Status Dataset::Write(const std::string& path) const {
  const int64_t rows = static_cast<int64_t>(bars());
  const int64_t width = feature_count();
  base::TensorFileWriter writer;
  for (const auto& [key, value] : metadata_) writer.Metadata(key, value);
  writer.Tensor<float>("features", {rows, width}, features_)
      .Tensor<float>("targets", {rows, 4}, targets_)
      .Tensor<uint8_t>("last", {rows}, last_)
      .Tensor<int64_t>("timestamp", {rows}, timestamp_)
      .Tensor<double>("feature_mean", {width}, std::span<const double>(scaler_.mean))
      .Tensor<double>("feature_scale", {width}, std::span<const double>(scaler_.scale));
  return writer.Write(path);
}

}  // namespace vixen::market
