// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cpu_collector.h"

#include <algorithm>
#include <fstream>

#include "base/cpu_count.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/cpu_scratch.h"
#include "kernels/collect/launch_start.h"
#include "kernels/collect/state_block.h"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

constexpr size_t kLargeSlotBlock = 32;
constexpr size_t kSmallSlotBlock = 16;

std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "CPU";
}

void ClearRow(const BatchView& view, size_t row) {
  view.bar[row] = 0;
  view.episode[row] = 0;
  view.action[row] = 0;
  view.flags[row] = 0;
  std::fill_n(view.portfolio + row * kPortfolioFeatures, kPortfolioFeatures, 0.0f);
  std::fill_n(view.next_portfolio + row * kPortfolioFeatures, kPortfolioFeatures, 0.0f);
  view.reward[row] = 0.0f;
  view.td[row] = 0.0f;
  std::fill_n(view.terms + row * kRewardTerms, kRewardTerms, 0.0f);
  if (view.q != nullptr) std::fill_n(view.q + row * kActions, kActions, 0.0f);
}

void WriteRow(const StepRecord& record, float q, const BatchView& view, size_t row) {
  view.bar[row] = record.bar;
  view.episode[row] = record.episode;
  view.action[row] = record.action;
  view.flags[row] = record.flags;
  std::copy_n(record.portfolio, kPortfolioFeatures, view.portfolio + row * kPortfolioFeatures);
  std::copy_n(record.next_portfolio, kPortfolioFeatures,
              view.next_portfolio + row * kPortfolioFeatures);
  view.td[row] = q;
  float* terms = view.terms + row * kRewardTerms;
  terms[0] = record.pnl;
  terms[1] = record.barrier;
  terms[2] = record.risk;
  terms[3] = record.diversity;
  terms[4] = 0.0f;
}

}  // namespace

CpuCollector::CpuCollector(const CollectorOptions& options, int threads, MatrixKernel kernel)
    : options_(options),
      rules_(MakeRules(options.settings, options.steps)),
      weights_(options.architecture, kernel),
      pool_(threads),
      slots_per_block_(options.episodes >= 4 * kLargeSlotBlock * threads ? kLargeSlotBlock
                                                                         : kSmallSlotBlock) {
  const size_t rows = size_t{options.episodes} * options.steps;
  trading_.resize(options.episodes);
  terms_.resize(rows * kRewardTerms);
  if (options.settings.double_dqn) greedy_.resize(rows);
  for (int i = 0; i < threads; ++i) {
    scratch_.push_back(std::make_unique<Scratch>(options.architecture));
  }
  info_.executor = "cpu";
  info_.device =
      base::StrCat(ProcessorName(), ", ", threads, threads == 1 ? " thread" : " threads");
  info_.algorithm = "batched phases";
  info_.reason = base::StrCat("matrix products in ", std::string(kernel.name), ", ",
                              slots_per_block_, " slots a block");
  info_.precision = Precision::kFp32;
  info_.workspace_bytes = terms_.size() * sizeof(float) + greedy_.size() +
                          options.episodes * (2 * sizeof(SlotState) + sizeof(SlotTrading));
}

absl::StatusOr<WeightsProbe> CpuCollector::StageWeights(const Parameters& parameters) {
  return weights_.Stage(parameters);
}

void CpuCollector::CommitWeights(WeightsKind kind) { weights_.Commit(kind); }

absl::Status CpuCollector::CanLaunch() const {
  const auto missing = [](std::string_view kind) {
    return absl::FailedPreconditionError(
        base::StrCat("no ", kind, " weights yet: push all that the settings need"));
  };
  if (weights_.online() == nullptr) return missing("online");
  if (weights_.target() == nullptr) return missing("target");
  if (needs_curiosity() && weights_.curiosity() == nullptr) return missing("curiosity");
  return absl::OkStatus();
}

absl::Status CpuCollector::Launch(const LaunchRequest& request, Batch& batch) {
  VIXEN_RETURN_IF_ERROR(CanLaunch());
  VIXEN_RETURN_IF_ERROR(CheckLaunch(options_, request, batch));
  VIXEN_ASSIGN_OR_RETURN(std::vector<SlotState> start,
                         StartSlots(options_, rules_, request, slots_));
  const std::vector<SlotState> kept = slots_;
  slots_ = start;
  batch.start_states = options_.settings.carry_over ? start : std::vector<SlotState>();
  BatchView view = batch.view();
  if (view.terms == nullptr) view.terms = terms_.data();

  const size_t slots = options_.episodes;
  const size_t blocks = (slots + slots_per_block_ - 1) / slots_per_block_;
  pool_.ParallelFor(static_cast<int64_t>(blocks), [&](int64_t block, int thread) {
    const size_t first = block * slots_per_block_;
    RunSlots(request, view, first, std::min(slots_per_block_, slots - first), *scratch_[thread]);
  });

  const size_t rows = batch.rows();
  const size_t pieces = (rows + kRowsPerPiece - 1) / kRowsPerPiece;
  pool_.ParallelFor(static_cast<int64_t>(pieces), [&](int64_t piece, int thread) {
    const size_t first = piece * kRowsPerPiece;
    FinishRows(view, first, std::min(first + kRowsPerPiece, rows), *scratch_[thread]);
  });

  absl::Status status = ScanLaunch(view, options_.steps, options_.settings.initial_capital, start,
                                   trading_, slots_, pool_, batch.statistics);
  if (!status.ok()) {
    slots_ = kept;
    return absl::Status(status.code(), base::StrCat("launch ", request.launch, ": ",
                                                    base::ToStd(status.message())));
  }
  return absl::OkStatus();
}

absl::Status CpuCollector::Wait(Batch&) { return absl::OkStatus(); }

void CpuCollector::RunSlots(const LaunchRequest& request, const BatchView& view, size_t first,
                            size_t count, Scratch& scratch) {
  const MarketView& market = options_.market;
  const size_t steps = options_.steps;
  const size_t lanes = slots_per_block_;
  const float* q = scratch.q.data();
  std::fill_n(trading_.begin() + first, count, SlotTrading());
  std::fill(scratch.state.begin(), scratch.state.end(), 0.0f);
  for (size_t step = 0; step < steps; ++step) {
    size_t active = 0;
    for (size_t i = 0; i < count; ++i) {
      const SlotState& slot = slots_[first + i];
      if (slot.active == 0) continue;
      active += 1;
      float portfolio[kPortfolioFeatures];
      ObservePortfolio(rules_, slot, market.targets[4 * size_t{slot.bar}], portfolio);
      GatherState(market, slot.bar, portfolio, i, lanes, scratch.state.data());
    }
    if (active > 0) {
      weights_.online()->Forward(scratch.state.data(), lanes, scratch.layers.data(),
                                 scratch.q.data());
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t n = first + i;
      const size_t row = n * steps + step;
      SlotState& slot = slots_[n];
      if (slot.active == 0) {
        ClearRow(view, row);
        continue;
      }
      const int greedy = GreedyAction(rules_.settings, q + i, static_cast<int>(lanes));
      const int scripted = request.inputs.actions.empty() ? -1 : request.inputs.actions[row];
      const Choice choice =
          ChooseAction(rules_.settings, request.epsilon, greedy, scripted, slot.rng);
      const StepRecord record = StepSlot(rules_, market, choice, static_cast<uint32_t>(step), slot);
      WriteRow(record, q[choice.action * lanes + i], view, row);
      if (!greedy_.empty()) greedy_[row] = static_cast<uint8_t>(greedy);
      if (view.q != nullptr) {
        for (int a = 0; a < kActions; ++a) view.q[row * kActions + a] = q[a * lanes + i];
      }
      trading_[n].fills += record.costs.fills;
      trading_[n].notional += record.costs.notional;
      trading_[n].costs += record.costs.paid;
    }
  }
}

absl::StatusOr<std::unique_ptr<Collector>> MakeCpuCollector(const CollectorOptions& options) {
  VIXEN_RETURN_IF_ERROR(CheckOptions(options));
  if (options.precision != Precision::kAuto && options.precision != Precision::kFp32) {
    return absl::InvalidArgumentError(base::StrCat(
        "precision = ", options.precision == Precision::kTf32 ? "tf32" : "fp16",
        " needs the CUDA executor; the CPU executor computes fp32 (precision auto or fp32)"));
  }
  const uint64_t rows = uint64_t{options.episodes} * options.steps;
  const uint64_t needed = rows * (kRewardTerms * sizeof(float) + 42);
  if (needed > base::AvailableMemoryBytes()) {
    return absl::ResourceExhaustedError(base::StrCat(
        "episodes = ", options.episodes, " × steps = ", options.steps, " needs ", needed >> 20,
        " MiB a launch, this process may use ", base::AvailableMemoryBytes() >> 20, " MiB"));
  }
  const int threads = options.threads > 0 ? options.threads : base::AvailableCpus();
  return std::make_unique<CpuCollector>(options, threads, AvailableMatrixKernels().front());
}

}  // namespace vixen::kernels
