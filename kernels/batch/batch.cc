// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch/batch.h"

#include <utility>

namespace vixen::kernels {

Batch::Offsets Batch::OffsetsOf(size_t rows, bool with_terms) {
  Offsets offsets{};
  size_t offset = 0;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    offsets[i] = offset;
    if (kColumns[i].id == ColumnId::kTerms && !with_terms) continue;
    offset += rows * kColumns[i].width * ElementBytes(kColumns[i].type);
  }
  offsets.back() = offset;
  return offsets;
}

size_t Batch::PayloadBytes(size_t rows, bool with_terms) {
  return OffsetsOf(rows, with_terms).back();
}

Batch::Batch(uint32_t episodes, uint32_t steps, bool with_terms, bool with_q)
    : Batch(episodes, steps, with_terms,
            std::shared_ptr<std::byte[]>(
                new std::byte[PayloadBytes(size_t{episodes} * steps, with_terms)]())) {
  if (with_q) q_.resize(rows() * kActions);
}

Batch::Batch(uint32_t episodes, uint32_t steps, bool with_terms,
             std::shared_ptr<std::byte[]> memory)
    : episodes_(episodes),
      steps_(steps),
      with_terms_(with_terms),
      offsets_(OffsetsOf(rows(), with_terms)),
      bytes_(std::move(memory)) {}

BatchView Batch::view() {
  const auto at = [this](ColumnId id) { return bytes_.get() + offsets_[static_cast<size_t>(id)]; };
  const auto floats = [&](ColumnId id) { return reinterpret_cast<float*>(at(id)); };
  const auto words = [&](ColumnId id) { return reinterpret_cast<uint32_t*>(at(id)); };
  const auto bytes = [&](ColumnId id) { return reinterpret_cast<uint8_t*>(at(id)); };
  BatchView view;
  view.bar = words(ColumnId::kBar);
  view.episode = words(ColumnId::kEpisode);
  view.portfolio = floats(ColumnId::kPortfolio);
  view.next_portfolio = floats(ColumnId::kNextPortfolio);
  view.reward = floats(ColumnId::kReward);
  view.td = floats(ColumnId::kTd);
  view.terms = with_terms_ ? floats(ColumnId::kTerms) : nullptr;
  view.action = bytes(ColumnId::kAction);
  view.flags = bytes(ColumnId::kFlags);
  view.q = q_.empty() ? nullptr : q_.data();
  return view;
}

std::span<const std::byte> Batch::Column(ColumnId id) const {
  const size_t i = static_cast<size_t>(id);
  return {bytes_.get() + offsets_[i], offsets_[i + 1] - offsets_[i]};
}

std::span<std::byte> Batch::MutableColumn(ColumnId id) {
  const size_t i = static_cast<size_t>(id);
  return {bytes_.get() + offsets_[i], offsets_[i + 1] - offsets_[i]};
}

std::span<const std::byte> Batch::payload() const { return {bytes_.get(), offsets_.back()}; }

}  // namespace vixen::kernels
