// SPDX-License-Identifier: Apache-2.0
// The columns of a batch: the one list that executors fill, the codec sends and the replay reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vixen::kernels {

enum class ElementType : uint8_t { kU8, kU32, kF32, kF16 };
constexpr size_t ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return 1;
    case ElementType::kF16:
      return 2;
    case ElementType::kU32:
    case ElementType::kF32:
      return 4;
  }
  return 0;
}

// The one-byte columns come last, so that every column is aligned for its type whatever N·L is.
enum class ColumnId : uint8_t {
  kBar,
  kEpisode,
  kPortfolio,
  kNextPortfolio,
  kReward,
  kTd,
  kTerms,
  kAction,
  kFlags,
};

struct ColumnSpec {
  ColumnId id;
  std::string_view name;
  ElementType type;
  uint32_t width;  // elements a row
};

// Row-major [N·L, width]; row n·L + ℓ is step ℓ of slot n. kColumns[i].id is ColumnId{i}.
inline constexpr std::array<ColumnSpec, 9> kColumns = {{
    {ColumnId::kBar, "bar", ElementType::kU32, 1},
    {ColumnId::kEpisode, "episode", ElementType::kU32, 1},
    {ColumnId::kPortfolio, "portfolio", ElementType::kF32, 3},
    {ColumnId::kNextPortfolio, "next_portfolio", ElementType::kF32, 3},
    {ColumnId::kReward, "reward", ElementType::kF32, 1},
    {ColumnId::kTd, "td", ElementType::kF32, 1},
    {ColumnId::kTerms, "terms", ElementType::kF32, 5},
    {ColumnId::kAction, "action", ElementType::kU8, 1},
    {ColumnId::kFlags, "flags", ElementType::kU8, 1},
}};

// Flags of a transition.
inline constexpr uint8_t kFlagValid = 1;
inline constexpr uint8_t kFlagTerminated = 2;
inline constexpr uint8_t kFlagTruncated = 4;
inline constexpr int kBarrierShift = 3;  // two bits: BarrierResult
inline constexpr uint8_t kFlagExplored = 32;

enum class BarrierResult : uint8_t { kNone = 0, kProfit = 1, kStop = 2, kTime = 3 };
constexpr BarrierResult BarrierOf(uint8_t flags) {
  return static_cast<BarrierResult>((flags >> kBarrierShift) & 3);
}

}  // namespace vixen::kernels
