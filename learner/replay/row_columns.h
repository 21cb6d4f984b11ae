// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor_file.h"
#include "learner/replay/row.h"

namespace vixen::learner {

// Replay rows as columns, as checkpoints keep them: each tensor [rows] or [rows, 3]. The vectors
// may be longer: memory that is there already is not given back, and costs nothing to fill again.
struct RowColumns {
  std::vector<uint32_t> bar, bootstrap_bar;
  std::vector<float> portfolio, next_portfolio, bootstrap_portfolio;  // [rows, 3]
  std::vector<float> reward, discount, td;
  std::vector<uint8_t> action, flags;

  size_t rows = 0;

  // Makes memory for so many rows, and touches it.
  void Reserve(size_t capacity);
  // Replaces what is here. One pass over the rows.
  void Assign(std::span<const ReplayRow> from);
  ReplayRow Row(size_t index) const;

  // Adds every column to a file under construction; this object must outlive the writer.
  void AddTo(base::TensorFileWriter& writer) const;
  // INVALID_ARGUMENT or NOT_FOUND naming file and tensor.
  static absl::StatusOr<RowColumns> Read(const base::TensorFile& file, size_t rows);
};

}  // namespace vixen::learner
