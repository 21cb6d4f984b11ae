// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/batch/columns.h"
#include "kernels/batch/statistics.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

// Where a launch writes its rows: borrowed pointers, each [N·L, width] of its column. Optional ones
// may be null. Host or device memory, as the executor says.
struct BatchView {
  uint32_t* bar = nullptr;
  uint8_t* action = nullptr;
  uint8_t* flags = nullptr;
  uint32_t* episode = nullptr;
  float* portfolio = nullptr;
  float* next_portfolio = nullptr;
  float* reward = nullptr;
  float* td = nullptr;
  float* terms = nullptr;  // optional
  float* q = nullptr;      // optional [N·L, 45], online Q(s, ·): golden cases and evaluation only
};

// The owner of one launch's rows on the host: one allocation, columns one after another in the
// order of kColumns (`terms` only when asked for), so that the payload of the wire is this memory
// as it is.
class Batch {
 public:
  Batch(uint32_t episodes, uint32_t steps, bool with_terms, bool with_q = false);
  // The rows live in `memory`, PayloadBytes(…) of it: pinned memory of an executor, say.
  Batch(uint32_t episodes, uint32_t steps, bool with_terms, std::shared_ptr<std::byte[]> memory);

  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;

  static size_t PayloadBytes(size_t rows, bool with_terms);

  uint32_t episodes() const { return episodes_; }
  uint32_t steps() const { return steps_; }
  size_t rows() const { return size_t{episodes_} * steps_; }
  bool with_terms() const { return with_terms_; }

  BatchView view();
  // The bytes of one column; empty when the batch does not have it.
  std::span<const std::byte> Column(ColumnId id) const;
  std::span<std::byte> MutableColumn(ColumnId id);
  // All wire columns in order, contiguous. 42 bytes a row, 62 with terms.
  std::span<const std::byte> payload() const;
  std::span<const float> q() const { return q_; }

  LaunchStatistics statistics;
  // Slot states at the start of the launch, [N]; filled with `carry_over` only.
  std::vector<SlotState> start_states;

 private:
  using Offsets = std::array<size_t, kColumns.size() + 1>;  // of each column; then the end
  static Offsets OffsetsOf(size_t rows, bool with_terms);

  uint32_t episodes_;
  uint32_t steps_;
  bool with_terms_;
  Offsets offsets_;
  std::shared_ptr<std::byte[]> bytes_;  // offsets_.back() of them
  std::vector<float> q_;
};

}  // namespace vixen::kernels
