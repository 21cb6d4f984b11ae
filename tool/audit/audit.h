// SPDX-License-Identifier: Apache-2.0
// Recorded launches computed again. docs/formats.md, "Audit".
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/collect/collector.h"
#include "kernels/nn/weights_archive.h"
#include "market/dataset.h"
#include "proto/codec/recorded_batch.h"

namespace vixen::tool {

// What audits of several batches share.
struct Auditor {
  std::shared_ptr<const market::Dataset> dataset;
  kernels::WeightsArchive weights;
  kernels::CollectorFactory make;
  kernels::Precision precision = kernels::Precision::kAuto;  // kAuto: the recorded one
  // Settings that the recorded ones must have: name and value as textproto.
  std::vector<std::pair<std::string, std::string>> expected;
};

struct AuditResult {
  bool passed = false;
  // "equal bytes" or "step by step", and how many rows; or what is wrong, where, with both values.
  std::string text;
};

// Finds dataset, settings and weights that the batch names, computes the launch and compares every
// row: bytes when this executor is the recorded kind of device at the recorded precision, else
// bytes or, where they differ, kernels::ReplayLaunch. When bytes differ, other versions of the
// archive are tried, so that a wrong version is named. An error status is a launch that could not
// be computed at all: another dataset, a missing version, settings that do not fit; a fault in the
// rows is a result.
absl::StatusOr<AuditResult> Audit(const Auditor& auditor, codec::RecordedBatch& recorded);

}  // namespace vixen::tool
