// SPDX-License-Identifier: Apache-2.0
#include "market/csv/split_lines.h"

#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/bounded_queue.h"
#include "base/status_macros.h"
#include "market/csv/fields.h"
#include "market/csv/number.h"

namespace vixen::market::csv {
namespace {

constexpr size_t kBlocks = 4;
// Waking a thread takes some ten microseconds in a virtual machine: with 64 KiB it ate the gain.
constexpr size_t kBlockBytes = 256 << 10;
static_assert(kBlockBytes >= LineReader::kLongestLine);

struct Block {
  struct Place {
    std::string_view text;
    size_t first_field;
    uint64_t number;
  };

  void Clear() {
    lines.clear();
    fields.clear();
    numbers.clear();
  }
  SplitLine At(size_t index) const {
    const size_t begin = lines[index].first_field;
    const size_t end = index + 1 < lines.size() ? lines[index + 1].first_field : fields.size();
    return {lines[index].text, std::span(fields).subspan(begin, end - begin),
            std::span(numbers).subspan(begin, end - begin), lines[index].number};
  }

  std::unique_ptr<char[]> text;
  std::vector<Place> lines;
  std::vector<std::string_view> fields;
  std::vector<double> numbers;  // by field
  absl::Status end;             // why no line follows, once `last`
  bool last = false;
};

}  // namespace

struct SplitLines::State {
  State(LineReader lines, char delimiter, char decimal, std::vector<int> columns)
      : reader(std::move(lines)),
        delimiter(delimiter),
        decimal(decimal),
        columns(std::move(columns)) {}

  void Cut(std::string_view line, Block& block);
  void Fill(Block& block);
  void FillBlocks();
  absl::StatusOr<bool> NextHere(SplitLine& line);
  bool StartThread();

  LineReader reader;
  const char delimiter, decimal;
  const std::vector<int> columns;
  std::string_view pending;  // a line that the block before had no room for
  std::vector<std::string_view> cut;

  base::BoundedQueue<std::unique_ptr<Block>> empty{kBlocks}, filled{kBlocks};

  // Each line changes what one thread alone uses, so the two must not share a cache line.
  alignas(64) std::unique_ptr<Block> block;  // the caller's
  size_t next_line = 0;                      // in it
  size_t bytes_here = 0;                     // cut by the caller itself
  Block here;                                // a line of it

  alignas(64) std::jthread thread;
};

// `line` stays where it is.
void SplitLines::State::Cut(std::string_view line, Block& block) {
  block.lines.push_back({line, block.fields.size(), reader.line_number()});
  SplitFields(line, delimiter, cut);
  block.fields.insert(block.fields.end(), cut.begin(), cut.end());
  block.numbers.resize(block.fields.size(), std::numeric_limits<double>::quiet_NaN());
  double* const numbers = block.numbers.data() + block.lines.back().first_field;
  for (const int column : columns) {
    if (column < 0 || column >= static_cast<int>(cut.size())) continue;
    if (const std::optional<double> number = ParseNumber(cut[column], decimal)) {
      numbers[column] = *number;
    }
  }
}

void SplitLines::State::Fill(Block& block) {
  if (block.text == nullptr) block.text = std::make_unique_for_overwrite<char[]>(kBlockBytes);
  block.Clear();
  size_t used = 0;
  for (;;) {
    if (pending.data() == nullptr) {
      const absl::StatusOr<bool> more = reader.Next(pending, delimiter);
      if (!more.ok() || !*more) {
        block.last = true;
        block.end = more.status();
        return;
      }
    }
    if (used + pending.size() > kBlockBytes) return;
    char* const text = block.text.get() + used;
    std::memcpy(text, pending.data(), pending.size());
    used += pending.size();
    Cut(std::string_view(text, pending.size()), block);
    pending = {};
  }
}

void SplitLines::State::FillBlocks() {
  while (std::optional<std::unique_ptr<Block>> next = empty.Pop()) {
    Fill(**next);
    const bool last = (*next)->last;
    if (!filled.Push(*std::move(next)) || last) return;
  }
}

absl::StatusOr<bool> SplitLines::State::NextHere(SplitLine& line) {
  std::string_view text;
  VIXEN_ASSIGN_OR_RETURN(const bool more, reader.Next(text, delimiter));
  if (!more) return false;
  bytes_here += text.size();
  here.Clear();
  Cut(text, here);
  line = here.At(0);
  return true;
}

bool SplitLines::State::StartThread() {
  // A pipe may stand still, and an error in a row that came must not wait for its next bytes.
  if (bytes_here < kBlockBytes || !reader.regular_file()) return false;
  try {
    thread = std::jthread([this] { FillBlocks(); });
  } catch (const std::system_error&) {  // no more threads: it goes on without
    bytes_here = 0;
    return false;
  }
  for (size_t i = 0; i < kBlocks; ++i) empty.Push(std::make_unique<Block>());
  return true;
}

SplitLines::SplitLines(LineReader lines, char delimiter, char decimal, std::vector<int> columns)
    : state_(std::make_unique<State>(std::move(lines), delimiter, decimal, std::move(columns))) {}

SplitLines::~SplitLines() {
  state_->empty.Close();
  state_->filled.Close();
}

absl::StatusOr<bool> SplitLines::Next(SplitLine& line) {
  State& state = *state_;
  if (!state.thread.joinable() && !state.StartThread()) return state.NextHere(line);
  for (;;) {
    if (state.block == nullptr) {
      state.block = *state.filled.Pop();
      state.next_line = 0;
    }
    if (state.next_line < state.block->lines.size()) {
      line = state.block->At(state.next_line++);
      return true;
    }
    if (state.block->last) {
      if (!state.block->end.ok()) return state.block->end;
      return false;
    }
    state.empty.Push(std::move(state.block));
  }
}

}  // namespace vixen::market::csv
