// SPDX-License-Identifier: Apache-2.0
#include "market/dataset_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/dataset_format.h"
#include "market/format.h"

namespace vixen::market {
namespace {

constexpr uint64_t kPieceRows = 16'384;
// Rows that are scaled and hashed together: two pieces stay in the second-level cache.
constexpr uint64_t kScaledRows = 2048;
// Of the keys that the format itself writes, names and numbers of tensors.
constexpr size_t kOwnHeaderBytes = 8 << 10;

}  // namespace

DatasetFile::DatasetFile(std::vector<std::string> names, base::TensorFileBuilder builder)
    : names_(std::move(names)), builder_(std::move(builder)) {
  features_ = builder_.Get<float>("features");
}

absl::StatusOr<DatasetFile> DatasetFile::Create(const std::string& path,
                                                std::vector<std::string> feature_names,
                                                const std::vector<RowRange>& ranges,
                                                size_t metadata_bytes) {
  VIXEN_RETURN_IF_ERROR(CheckFeatureNames(feature_names));
  std::vector<Placed> order;
  uint64_t rows = 0;
  for (const RowRange& range : ranges) {
    order.push_back({range, rows});
    rows += range.rows();
  }
  // Names stand there twice: all of them, and those of constant columns. A byte may become six.
  size_t header = kOwnHeaderBytes + 6 * metadata_bytes;
  for (const std::string& name : feature_names) header += 12 * name.size() + 16;
  const int64_t t = static_cast<int64_t>(rows), f = static_cast<int64_t>(feature_names.size());
  using base::DType;
  VIXEN_ASSIGN_OR_RETURN(base::TensorFileBuilder builder,
                         base::TensorFileBuilder::Create(path,
                                                         {{"features", DType::kF32, {t, f}},
                                                          {"targets", DType::kF32, {t, 4}},
                                                          {"last", DType::kU8, {t}},
                                                          {"timestamp", DType::kI64, {t}},
                                                          {"feature_mean", DType::kF64, {f}},
                                                          {"feature_scale", DType::kF64, {f}}},
                                                         header));
  DatasetFile file(std::move(feature_names), std::move(builder));
  file.rows_ = rows;
  file.placed_ = order;
  file.order_ = std::move(order);
  std::ranges::sort(file.placed_, {}, [](const Placed& placed) { return placed.bars.begin; });
  return file;
}

absl::Status DatasetFile::AddBars(const Bars& bars) {
  const std::span<float> targets = builder_.Get<float>("targets");
  const std::span<uint8_t> last = builder_.Get<uint8_t>("last");
  const std::span<int64_t> timestamp = builder_.Get<int64_t>("timestamp");
  uint64_t row = 0;
  const auto add = [&](uint64_t now, bool end) -> absl::Status {
    const uint64_t next = end ? now : now + 1;
    const double prices[4] = {bars.close[now], bars.close[next],
                              end ? bars.close[now] : bars.high[next],
                              end ? bars.close[now] : bars.low[next]};
    for (size_t i = 0; i < 4; ++i) {
      const float rounded = static_cast<float>(prices[i]);
      if (!std::isfinite(rounded) || rounded <= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("bar ", next, ", time ", FormatUtc(bars.timestamp[next]), ": price ",
                         FormatValue(prices[i]), " is outside the range of float32 targets"));
      }
      targets[4 * row + i] = rounded;
    }
    last[row] = end ? 1 : 0;
    timestamp[row] = bars.timestamp[now];
    if (++row % kPieceRows == 0) {
      builder_.Release(targets.subspan(4 * (row - kPieceRows), 4 * kPieceRows));
      builder_.Release(timestamp.subspan(row - kPieceRows, kPieceRows));
    }
    return absl::OkStatus();
  };
  for (const Placed& placed : order_) {
    for (uint64_t bar = placed.bars.begin; bar < placed.bars.end; ++bar) {
      VIXEN_RETURN_IF_ERROR(add(bar, bar + 1 == placed.bars.end));
    }
  }
  return absl::OkStatus();
}

void DatasetFile::FitOn(BarRange training) {
  training_ = training;
  fit_.emplace(names_.size());
  // Sums run over the rows in their order, whatever the order of the bars.
  uint64_t bar = 0;
  fit_in_put_ = true;
  for (const Placed& placed : order_) {
    if (placed.row >= training.end || placed.row + placed.bars.rows() <= training.begin) continue;
    fit_in_put_ = fit_in_put_ && placed.bars.begin >= bar;
    bar = placed.bars.end;
  }
}

void DatasetFile::Put(uint64_t first_bar, std::span<const float> features) {
  const size_t width = names_.size();
  const uint64_t end_bar = first_bar + features.size() / width;
  auto place = std::ranges::partition_point(
      placed_, [first_bar](const Placed& placed) { return placed.bars.end <= first_bar; });
  for (; place != placed_.end() && place->bars.begin < end_bar; ++place) {
    const uint64_t begin = std::max(first_bar, place->bars.begin);
    const uint64_t end = std::min(end_bar, place->bars.end);
    const std::span<const float> from =
        features.subspan((begin - first_bar) * width, (end - begin) * width);
    const uint64_t row = place->row + begin - place->bars.begin;
    put_.Update(builder_.Store(features_.subspan(row * width, from.size()), from));
    if (!fit_in_put_) continue;
    const uint64_t fit_begin = std::max(row, training_.begin);
    const uint64_t fit_end = std::min(row + end - begin, training_.end);
    if (fit_begin < fit_end) {
      fit_->AddToMean(from.subspan((fit_begin - row) * width, (fit_end - fit_begin) * width));
    }
  }
}

void DatasetFile::ForEachTrainingPiece(const std::function<void(std::span<const float>)>& visit) {
  const size_t width = names_.size();
  for (uint64_t row = training_.begin; row < training_.end; row += kPieceRows) {
    const uint64_t rows = std::min(kPieceRows, training_.end - row);
    const std::span<float> piece = features_.subspan(row * width, rows * width);
    visit(piece);
    builder_.Release(piece);
  }
}

FittedScaler DatasetFile::Fit() {
  if (!fit_in_put_) {
    ForEachTrainingPiece([this](std::span<const float> piece) { fit_->AddToMean(piece); });
  }
  ForEachTrainingPiece([this](std::span<const float> piece) { fit_->AddToDeviation(piece); });
  return fit_->Finish();
}

absl::Status DatasetFile::ScaleAndHash(const std::optional<FittedScaler>& fitted,
                                       base::WorkerPool& pool, base::Sha256& file_hash,
                                       base::Sha256& data_hash, std::vector<uint64_t>& clipped) {
  const size_t width = names_.size();
  const auto piece_at = [&](uint64_t row) {
    return features_.subspan(row * width, std::min(kScaledRows, rows_ - row) * width);
  };
  std::vector<float> now, next;
  const auto scale = [&](uint64_t row) -> absl::Status {
    const std::span<float> piece = piece_at(row);
    next.assign(piece.begin(), piece.end());
    builder_.Release(piece);
    if (!fitted) return absl::OkStatus();
    const std::vector<uint64_t> clips = ApplyScaler(*fitted, next);
    for (size_t i = 0; i < width; ++i) clipped[i] += clips[i];
    return builder_.Store(piece, std::span<const float>(next));
  };
  if (rows_ > 0) VIXEN_RETURN_IF_ERROR(scale(0));
  for (uint64_t row = 0; row < rows_; row += kScaledRows) {
    std::swap(now, next);
    absl::Status stored;
    pool.ParallelFor(3, [&](int64_t which, int) {
      if (which == 0) file_hash.UpdateValues(std::span<const float>(now));
      if (which == 1) data_hash.UpdateValues(std::span<const float>(now));
      if (which == 2 && row + kScaledRows < rows_) stored = scale(row + kScaledRows);
    });
    VIXEN_RETURN_IF_ERROR(stored);
  }
  return absl::OkStatus();
}

absl::StatusOr<DatasetFile::Written> DatasetFile::Finish(
    const std::optional<FittedScaler>& fitted, const std::string& source,
    std::optional<uint64_t> train_rows, std::map<std::string, std::string> extra_metadata,
    base::WorkerPool& pool) {
  VIXEN_RETURN_IF_ERROR(put_);
  const size_t width = names_.size();
  Scaler scaler{std::vector<double>(width, 0.0), std::vector<double>(width, 1.0)};
  if (fitted) scaler = fitted->scaler;
  const std::span<double> mean = builder_.Get<double>("feature_mean");
  const std::span<double> scale = builder_.Get<double>("feature_scale");
  std::ranges::copy(scaler.mean, mean.begin());
  std::ranges::copy(scaler.scale, scale.begin());

  // The file's order of tensors and the fingerprint's differ; both are taken in one pass.
  const std::span<float> targets = builder_.Get<float>("targets");
  const std::span<uint8_t> last = builder_.Get<uint8_t>("last");
  base::Sha256 file_hash, data_hash;
  file_hash.UpdateValues(std::span<const int64_t>(builder_.Get<int64_t>("timestamp")));
  builder_.Release(builder_.Get<int64_t>("timestamp"));
  file_hash.UpdateValues(std::span<const double>(mean));
  file_hash.UpdateValues(std::span<const double>(scale));
  data_hash.UpdateValue(static_cast<uint32_t>(width));
  data_hash.UpdateValue(rows_);
  Written written;
  written.clipped.assign(width, 0);
  VIXEN_RETURN_IF_ERROR(ScaleAndHash(fitted, pool, file_hash, data_hash, written.clipped));
  for (base::Sha256* hash : {&file_hash, &data_hash}) {
    hash->UpdateValues(std::span<const float>(targets));
    hash->UpdateValues(std::span<const uint8_t>(last));
  }
  const base::Sha256Digest fingerprint = data_hash.Finish();
  VIXEN_ASSIGN_OR_RETURN(auto metadata,
                         DatasetMetadata(names_, source, train_rows, fingerprint,
                                         scaler.Fingerprint(names_), std::move(extra_metadata)));
  written.fingerprint = base::ToHex(fingerprint);
  VIXEN_RETURN_IF_ERROR(builder_.Finish(std::move(metadata), base::ToHex(file_hash.Finish())));
  return written;
}

}  // namespace vixen::market
