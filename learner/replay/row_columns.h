// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
  // Replaces what is here. One pass over the rows; `row_at(i)` is the i-th of `count`.
  template <typename RowAt>
  void Assign(size_t count, const RowAt& row_at) {
    Reserve(count);
    rows = count;
    for (size_t i = 0; i < rows; ++i) Set(i, row_at(i));
  }
  void Assign(std::span<const ReplayRow> from) {
    Assign(from.size(), [&](size_t i) -> const ReplayRow& { return from[i]; });
  }
  ReplayRow Row(size_t index) const;

  // Adds every column to a file under construction; this object must outlive the writer.
  void AddTo(base::TensorFileWriter& writer) const;
  // INVALID_ARGUMENT or NOT_FOUND naming file and tensor.
  static absl::StatusOr<RowColumns> Read(const base::TensorFile& file, size_t rows);

 private:
  void Set(size_t i, const ReplayRow& row);
};

inline void RowColumns::Set(size_t i, const ReplayRow& row) {
  constexpr size_t kWidth = kernels::kPortfolioFeatures;
  bar[i] = row.bar;
  bootstrap_bar[i] = row.bootstrap_bar;
  std::copy_n(row.portfolio, kWidth, &portfolio[i * kWidth]);
  std::copy_n(row.next_portfolio, kWidth, &next_portfolio[i * kWidth]);
  std::copy_n(row.bootstrap_portfolio, kWidth, &bootstrap_portfolio[i * kWidth]);
  reward[i] = row.reward;
  discount[i] = row.discount;
  td[i] = row.td;
  action[i] = row.action;
  flags[i] = row.flags;
}

}  // namespace vixen::learner
