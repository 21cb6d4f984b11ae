// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/row_columns.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vixen::learner {
namespace {

constexpr size_t kWidth = kernels::kPortfolioFeatures;

// Calls `visit(name, column, width)` for every column, in the order of the file.
template <typename Columns, typename Visit>
void ForEachColumn(Columns& columns, Visit&& visit) {
  visit("bar", columns.bar, size_t{1});
  visit("bootstrap_bar", columns.bootstrap_bar, size_t{1});
  visit("portfolio", columns.portfolio, kWidth);
  visit("next_portfolio", columns.next_portfolio, kWidth);
  visit("bootstrap_portfolio", columns.bootstrap_portfolio, kWidth);
  visit("reward", columns.reward, size_t{1});
  visit("discount", columns.discount, size_t{1});
  visit("td", columns.td, size_t{1});
  visit("action", columns.action, size_t{1});
  visit("flags", columns.flags, size_t{1});
}

std::vector<int64_t> ShapeOf(size_t rows, size_t width) {
  std::vector<int64_t> shape = {static_cast<int64_t>(rows)};
  if (width > 1) shape.push_back(static_cast<int64_t>(width));
  return shape;
}

}  // namespace

void RowColumns::Reserve(size_t capacity) {
  ForEachColumn(*this, [&](const char*, auto& column, size_t width) {
    if (column.size() < capacity * width) column.resize(capacity * width);
  });
}

ReplayRow RowColumns::Row(size_t i) const {
  ReplayRow row;
  row.bar = bar[i];
  row.bootstrap_bar = bootstrap_bar[i];
  std::copy_n(&portfolio[i * kWidth], kWidth, row.portfolio);
  std::copy_n(&next_portfolio[i * kWidth], kWidth, row.next_portfolio);
  std::copy_n(&bootstrap_portfolio[i * kWidth], kWidth, row.bootstrap_portfolio);
  row.reward = reward[i];
  row.discount = discount[i];
  row.td = td[i];
  row.action = action[i];
  row.flags = flags[i];
  return row;
}

void RowColumns::AddTo(base::TensorFileWriter& writer) const {
  ForEachColumn(*this, [&](const char* name, const auto& column, size_t width) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    writer.Tensor<T>(name, ShapeOf(rows, width), std::span(column).first(rows * width));
  });
}

absl::StatusOr<RowColumns> RowColumns::Read(const base::TensorFile& file, size_t rows) {
  // As a length it would be negative, which stands for any length.
  if (rows > static_cast<size_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.source(), ": ", rows, " rows are more than there can be"));
  }
  RowColumns columns;
  columns.rows = rows;
  absl::Status status;
  ForEachColumn(columns, [&](const char* name, auto& column, size_t width) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    const absl::StatusOr<std::span<const T>> values = file.Get<T>(name, ShapeOf(rows, width));
    if (values.ok()) {
      column.assign(values->begin(), values->end());
    } else {
      status.Update(values.status());
    }
  });
  if (!status.ok()) return status;
  return columns;
}

}  // namespace vixen::learner
