// SPDX-License-Identifier: Apache-2.0
#include "bench/learner/replay_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <random>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/cache_line.h"
#include "bench/learner/launch_columns.h"
#include "bench/learner/textbook_replay.h"
#include "bench/median.h"
#include "learner/replay/n_step.h"
#include "learner/replay/random.h"
#include "learner/replay/replay.h"

namespace vixen::bench {
namespace {

using learner::ReplayRow;
using learner::RowList;

constexpr double kBeta = 0.4;
constexpr size_t kBatchesOfTd = 64;  // priorities made ahead: only the replay's work is measured

// Something to measure: a call handles `rows` rows.
struct Candidate {
  ReplayRate rate;
  size_t rows = 0;
  std::function<void()> call;
  std::vector<double> by_clock = {}, by_cpu = {};  // rows a second, a round each
};

void Measure(double seconds, Candidate& candidate) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const std::clock_t cpu = std::clock();
  double rows = 0;
  double taken = 0;
  do {
    candidate.call();
    rows += static_cast<double>(candidate.rows);
    taken = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (taken < seconds);
  candidate.by_clock.push_back(rows / taken);
  // A tick is a microsecond, and a call of few rows may be shorter.
  const double ticks = static_cast<double>(std::max<std::clock_t>(std::clock() - cpu, 1));
  candidate.by_cpu.push_back(rows * CLOCKS_PER_SEC / ticks);
}

ReplayRate RateOf(const Candidate& candidate) {
  ReplayRate rate = candidate.rate;
  rate.rows_per_second = MedianOf(candidate.by_clock);
  rate.slowest = *std::ranges::min_element(candidate.by_clock);
  rate.fastest = *std::ranges::max_element(candidate.by_clock);
  rate.rows_per_cpu_second = MedianOf(candidate.by_cpu);
  return rate;
}

// |td| of batches, one after another and again.
class Priorities {
 public:
  explicit Priorities(size_t batch) : batch_(batch), td_(kBatchesOfTd * batch) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    for (float& value : td_) value = std::fabs(normal(random));
  }
  std::span<const float> Next() {
    return std::span(td_).subspan(next_++ % kBatchesOfTd * batch_, batch_);
  }

 private:
  size_t batch_;
  std::vector<float> td_;
  size_t next_ = 0;
};

// A replay of one capacity, what is done with it, and beside it the same rows without any order.
class World {
 public:
  World(const ReplayBenchOptions& options, uint64_t capacity)
      : builder_({.n = options.n_step, .bars = LaunchColumns::kBars}),
        replay_({.capacity = capacity, .alpha = options.alpha}),
        textbook_(capacity, options.alpha, learner::ReplayOptions().epsilon),
        lines_(capacity),
        td_(options.batch_size),
        drawn_(options.batch_size) {
    FormRows();
    while (replay_.inserted() < capacity) InsertRows();
    for (uint32_t slot = 0; slot < capacity; ++slot) {
      lines_[slot].row = replay_.row(slot);
      textbook_.Set(slot, lines_[slot].row.td);
    }
  }

  void FormRows() {
    rows_.clear();
    builder_.Add(launch_++, columns_.rows(), rows_);
  }
  void InsertRows() { replay_.Insert(rows_); }
  void CopyRows() {
    for (const ReplayRow& row : rows_) {
      lines_[next_line_].row = row;
      if (++next_line_ == lines_.size()) next_line_ = 0;
    }
  }
  void DrawAndUpdate() {
    replay_.Draw(drawn_.size(), kBeta, sample_);
    for (size_t i = 0; i < drawn_.size(); ++i) drawn_[i] = replay_.row(sample_.slot[i]);
    replay_.Update(sample_.slot, sample_.generation, td_.Next());
  }
  // One from each of as many equal parts, as the draws are.
  void ReadAtRandom() {
    const double part = static_cast<double>(lines_.size()) / static_cast<double>(drawn_.size());
    sample_.slot.resize(drawn_.size());
    for (size_t i = 0; i < drawn_.size(); ++i) {
      sample_.slot[i] = static_cast<uint32_t>((static_cast<double>(i) + random_.Uniform()) * part);
    }
    // As the replay does, so that as many reads are under way as the processor can have.
    for (const uint32_t slot : sample_.slot) __builtin_prefetch(&lines_[slot]);
    for (size_t i = 0; i < drawn_.size(); ++i) drawn_[i] = lines_[sample_.slot[i]].row;
  }
  void DrawAndUpdateByTheTextbook() {
    textbook_.Draw(drawn_.size(), kBeta, sample_.slot, sample_.weight);
    for (size_t i = 0; i < drawn_.size(); ++i) drawn_[i] = lines_[sample_.slot[i]].row;
    const std::span<const float> td = td_.Next();
    for (size_t i = 0; i < td.size(); ++i) textbook_.Set(sample_.slot[i], td[i]);
  }

 private:
  struct alignas(base::kCacheLine) Line {
    ReplayRow row;
  };

  LaunchColumns columns_;
  learner::NStepBuilder builder_;
  learner::Replay replay_;
  TextbookReplay textbook_;
  base::CacheLineVector<Line> lines_;
  Priorities td_;
  RowList rows_;
  uint64_t launch_ = 0;
  size_t next_line_ = 0;
  learner::Sample sample_;
  std::vector<ReplayRow> drawn_;
  learner::SplitMix64 random_{1};
};

}  // namespace

std::vector<ReplayBenchRow> RunReplayBench(const ReplayBenchOptions& options) {
  std::vector<ReplayBenchRow> rows;
  for (const uint64_t capacity : options.rows) {
    World world(options, capacity);
    const auto of = [](const char* program, uint64_t count, std::function<void()> call) {
      return Candidate{.rate = {.program = program}, .rows = count, .call = std::move(call)};
    };
    const uint64_t launch = LaunchColumns::kRows;
    const uint64_t batch = options.batch_size;
    Candidate form = of("vixen", launch, [&] { world.FormRows(); });
    Candidate insert = of("vixen", launch, [&] { world.InsertRows(); });
    Candidate copy = of("copying the rows", launch, [&] { world.CopyRows(); });
    Candidate draw = of("vixen", batch, [&] { world.DrawAndUpdate(); });
    Candidate read = of("reading rows at random", batch, [&] { world.ReadAtRandom(); });
    Candidate textbook = of("binary sum tree", batch, [&] { world.DrawAndUpdateByTheTextbook(); });
    for (int round = 0; round < options.rounds; ++round) {
      for (Candidate* candidate : {&form, &insert, &copy, &draw, &read, &textbook}) {
        Measure(options.seconds, *candidate);
      }
    }
    rows.push_back({"form rows", capacity, launch, RateOf(form), RateOf(copy), {}});
    rows.push_back({"insert", capacity, launch, RateOf(insert), RateOf(copy), {}});
    rows.push_back(
        {"draw + update", capacity, batch, RateOf(draw), RateOf(read), RateOf(textbook)});
  }
  return rows;
}

std::string DescribeReplayBench(const std::vector<ReplayBenchRow>& rows) {
  std::string text;
  for (const ReplayBenchRow& row : rows) {
    absl::StrAppendFormat(&text,
                          "%-13s ring of %d rows: %.3f ms for %d rows, %.1f M rows/s (%.1f … "
                          "%.1f), %.0f %% of %s (%.0f M)",
                          row.name, row.rows, row.milliseconds(), row.batch_size,
                          1e-6 * row.ours.rows_per_second, 1e-6 * row.ours.slowest,
                          1e-6 * row.ours.fastest,
                          100 * row.ours.rows_per_second / row.limit.rows_per_second,
                          row.limit.program, 1e-6 * row.limit.rows_per_second);
    if (row.peer.has_value()) {
      absl::StrAppendFormat(&text, ", %.1f x a %s (%.1f M)",
                            row.ours.rows_per_second / row.peer->rows_per_second, row.peer->program,
                            1e-6 * row.peer->rows_per_second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace vixen::bench
