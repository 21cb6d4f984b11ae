// SPDX-License-Identifier: Apache-2.0
// The plain types of kernels/ as wire messages and back.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/batch/columns.h"
#include "kernels/batch/statistics.h"
#include "kernels/collect/collector.h"
#include "kernels/nn/network.h"
#include "vixen/v1/batch.pb.h"
#include "vixen/v1/weights.pb.h"

namespace vixen::codec {

v1::LaunchStatistics ToProto(const kernels::LaunchStatistics& statistics);
// INVALID_ARGUMENT when a list has another length than the specification's or a sum is not finite.
absl::StatusOr<kernels::LaunchStatistics> FromProto(const v1::LaunchStatistics& message);

v1::Architecture ToProto(const kernels::Architecture& architecture);
// Takes the widths as they are; Architecture::Check() judges them.
kernels::Architecture FromProto(const v1::Architecture& message);

v1::ElementType ToProto(kernels::ElementType type);
absl::StatusOr<kernels::ElementType> FromProto(v1::ElementType type);

// kAuto has no wire value (a launch always ran in one precision) and gives UNSPECIFIED.
v1::Precision ToProto(kernels::Precision precision);
absl::StatusOr<kernels::Precision> FromProto(v1::Precision precision);

v1::WeightsKind ToProto(kernels::WeightsKind kind);
// INVALID_ARGUMENT for UNSPECIFIED and unknown numbers.
absl::StatusOr<kernels::WeightsKind> FromProto(v1::WeightsKind kind);

}  // namespace vixen::codec
