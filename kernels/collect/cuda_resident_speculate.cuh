// SPDX-License-Identifier: Apache-2.0
// The resident kernel's helpers where a block carries one episode: three warps compute the step for
// all 45 actions while the matrix warps are busy, one category (short, flat, long) a warp, so that
// its lanes run the same branches; the choice then only selects a result. The fourth carries rows
// out and the next step's inputs in.
#pragma once

#include "kernels/collect/cuda_resident_rows.cuh"
#include "kernels/env/slot_registers.h"

namespace vixen::kernels::resident {

using CandidateSlot = SlotRegisters<WindowPlace>;

// The slot as one action leaves it, but for its window, and the step's record.
struct alignas(16) Candidate {
  uint4 slot[5];
  StagedRecord record;

  __device__ __forceinline__ void Put(const CandidateSlot& s) {
    const auto bits = [](float value) { return __float_as_uint(value); };
    slot[0] = make_uint4(s.rng, s.bar, s.step, s.episode);
    slot[1] = make_uint4(bits(s.cash), bits(s.position), bits(s.entry), bits(s.cumulative_costs));
    slot[2] = make_uint4(bits(s.barrier_upper), bits(s.barrier_lower), bits(s.barrier_entry),
                         s.barrier_expiry);
    slot[3] = make_uint4(bits(s.episode_reward), s.category_count[0], s.category_count[1],
                         s.category_count[2]);
    slot[4] = make_uint4(s.barrier_armed, s.active, 0, 0);
  }
  __device__ __forceinline__ CandidateSlot Get() const {
    const auto value = [](uint32_t bits) { return __uint_as_float(bits); };
    CandidateSlot s;
    const uint4 a = slot[0], b = slot[1], c = slot[2], d = slot[3], e = slot[4];
    s.rng = a.x, s.bar = a.y, s.step = a.z, s.episode = a.w;
    s.cash = value(b.x), s.position = value(b.y), s.entry = value(b.z);
    s.cumulative_costs = value(b.w);
    s.barrier_upper = value(c.x), s.barrier_lower = value(c.y), s.barrier_entry = value(c.z);
    s.barrier_expiry = c.w;
    s.episode_reward = value(d.x);
    s.category_count[0] = d.y, s.category_count[1] = d.z, s.category_count[2] = d.w;
    s.category_window.category = 0;
    s.barrier_armed = e.x, s.active = e.y;
    return s;
  }
};
static_assert(sizeof(Candidate) % 32 == 16);  // neighbours in different banks

// What a step reads besides the slot, made a step ahead.
struct alignas(16) StepInputs {
  StepBar bar;
  uint32_t rng;    // after the step's two draws
  uint32_t start;  // of the episode that follows should this step end the present one
  Choice choice;   // action −1: the greedy one
};

struct SpeculativeMemory {
  Candidate candidates[2][kActions + 3];  // [step % 2][action that the step before took]
  StepInputs inputs[2][2];                // [step % 2][goes on, starts anew]
  uint32_t window[kDiversityWindow / 4];  // the slot's, as bytes
  alignas(16) uint32_t touched[32][4];    // where prefetches land
};

// `index`: the slot's place in the launch; slots beyond it idle in the last block.
class Speculation {
 public:
  template <typename Memory>
  __device__ static void Start(const LaunchArguments& launch, Memory& memory,
                               SpeculativeMemory& mine, uint32_t index, int lane) {
    const bool real = index < launch.episodes;
    const MarketView& market = launch.market.view;
    const SlotState& slot = launch.slots[real ? index : 0];
    if (lane < kDiversityWindow / 4) {
      mine.window[lane] = reinterpret_cast<const uint32_t*>(slot.category_window)[lane];
    }
    if (lane != 0) return;
    CandidateSlot first(slot, WindowPlace{0});
    if (!real) first.active = 0;
    float portfolio[kPortfolioFeatures];
    ObservePortfolio(launch.rules, slot, market.targets[4 * size_t{slot.bar}], portfolio);
    memory.portfolio[0] = make_float4(portfolio[0], portfolio[1], portfolio[2], 0.0f);
    mine.candidates[0][0].Put(first);
    mine.inputs[0][0] = InputsOf(launch, real ? index : 0, 0, slot.bar, slot.rng);
  }

  __device__ static StepInputs InputsOf(const LaunchArguments& launch, uint32_t index,
                                        uint32_t step, uint32_t bar, uint32_t rng) {
    StepInputs inputs;
    inputs.bar = ReadAnyBar(launch.market.view, bar);
    inputs.choice = DrawChoice(launch, index, step, rng);
    inputs.rng = rng;
    inputs.start = StartBar(launch.market.view, NextRandom(rng));
    return inputs;
  }
};

// The action taken of step `step`: the same in every lane of every helper warp.
template <typename Memory>
__device__ __forceinline__ int TakenAction(const LaunchArguments& launch, Memory& memory,
                                           uint32_t step, bool active, int drawn, int lane) {
  memory.AwaitOutputs(step);
  const auto& outputs = memory.outputs[step % 2];
  const int greedy = WarpGreedy(
      launch.allowed, AdvantageOf(outputs[0][0], outputs[1][0], memory.bias3, lane), lane);
  return !active ? 0 : drawn >= 0 ? drawn : greedy;
}

// Each lane computes the step for one action of the category.
template <typename Memory>
__device__ void RunSpeculator(const LaunchArguments& launch, Memory& memory,
                              SpeculativeMemory& mine, int category, int lane) {
  const int action = (category == 0 ? 0 : category == 1 ? 2 * kStyles : 3 * kStyles) + lane;
  const bool speculates = lane < (category == 1 ? kStyles : 2 * kStyles);
  const ActionTerms terms = TermsOf(launch.rules, speculates ? action : 0);
  uint8_t* window = reinterpret_cast<uint8_t*>(mine.window);
  const bool recycles = launch.rules.settings.recycle;
  int taken = 0;
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    // The portfolio features of the present state are those that the networks see.
    const float4 portfolio = memory.portfolio[0];
    const bool anew = portfolio.w != 0.0f;
    const StepInputs inputs = mine.inputs[step & 1][anew];
    if (category == 0 && anew && recycles && lane < kDiversityWindow / 4) mine.window[lane] = 0;
    CandidateSlot slot = mine.candidates[step & 1][taken].Get();
    const bool active = slot.active != 0;
    const uint32_t place = slot.step % kDiversityWindow;
    StepRecord record;
    if (active && speculates) {
      if (slot.step >= kDiversityWindow) slot.category_window.category = window[place];
      slot.rng = inputs.rng;
      const StepStart start = {{portfolio.x, portfolio.y, portfolio.z},
                               EquityAt(slot, inputs.bar.close)};
      const auto start_of = [&inputs](uint32_t) { return inputs.start; };
      record = AdvanceSlot(launch.rules, inputs.bar, start, {action, inputs.choice.explored}, terms,
                           step, start_of, slot);
    }
    if (speculates) {
      Candidate& candidate = mine.candidates[(step + 1) & 1][action];
      candidate.Put(slot);
      Stage(record, candidate.record);
    }
    PassMatrix();
    PassStates();
    SyncSpeculators();  // every candidate is there
    taken = TakenAction(launch, memory, step, active, inputs.choice.action, lane);
    if (speculates && action == taken) {
      // next_close is the next bar's close bit for bit, so s' is the next step's state as well.
      const bool ends = EndsEpisode(record.flags);
      const bool goes_on = active && !ends;
      memory.portfolio[0] = make_float4(
          goes_on ? record.next_portfolio[0] : 1.0f, goes_on ? record.next_portfolio[1] : 0.0f,
          goes_on ? record.next_portfolio[2] : 0.0f, ends ? 1.0f : 0.0f);
      if (active) window[place] = static_cast<uint8_t>(category);
    }
    SyncBlock();  // the next state is there
  }
}

// The row that step `step` left.
template <typename Memory>
__device__ void WriteSpeculatedRow(const LaunchArguments& launch, const Memory& memory,
                                   const StagedRecord& record, const RowWriter& writer,
                                   size_t index, uint32_t step, int lane) {
  const auto& outputs = memory.outputs[step % 2];
  const LaneQ q(
      AdvantageOf(outputs[0][0], outputs[1][0], memory.bias3, lane),
      outputs[0][0][kValueOutput] + outputs[1][0][kValueOutput] + memory.bias3[kValueOutput]);
  const size_t row = index * launch.steps + step;
  writer.Write(record, q.Of(record.action()), row, lane);
  if (launch.rows.q != nullptr) {
    q.Write(launch.rows.q + row * kActions, (record.flags() & kFlagValid) != 0, lane);
  }
}

// What InputsOf will read begins to travel to L1.
__device__ __forceinline__ void TouchInputs(const LaunchArguments& launch, uint32_t bar,
                                            uint32_t rng, uint32_t chunk, uint32_t* to) {
  const MarketView& market = launch.market.view;
  const uint32_t draw = NextRandom(NextRandom(NextRandom(rng)));
  if (chunk == 1) TouchL1(to, market.targets + 4 * size_t{bar}, true);
  if (chunk == 2) TouchL1(to, market.last + min(bar + 1, market.end - 1) / 4 * 4, false);
  if (chunk == 3) TouchL1(to, market.last + DrawnBar(market, draw) / 4 * 4, false);
}

// The fourth helper: inputs of the next step, the row of the step before.
template <typename Memory>
__device__ void RunCarrier(const LaunchArguments& launch, Memory& memory, SpeculativeMemory& mine,
                           uint32_t index, int lane) {
  const RowWriter writer(launch, lane);
  const bool real = index < launch.episodes;
  const bool recycles = launch.rules.settings.recycle;
  // Lanes 0 … 15 serve the state that goes on, the others the one that starts anew.
  const int state = lane / 16;
  const uint32_t chunk = lane % 16;
  int taken = 0;
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    const bool anew = memory.portfolio[0].w != 0.0f;
    ArriveForSpeculators();  // they may replace it once the step's outputs are there
    const StepInputs& now = mine.inputs[step & 1][anew];
    const Candidate& candidate = mine.candidates[step & 1][taken];
    const uint4 slot = candidate.slot[0];  // rng, bar, step, episode
    const bool active = candidate.slot[4].y != 0;
    const int drawn = now.choice.action;
    const uint32_t bar = state == 0 ? slot.y + 1 : now.start;
    const uint32_t rng = state == 0 ? now.rng : NextRandom(now.rng);
    TouchInputs(launch, bar, rng, chunk, mine.touched[lane]);
    const float4 features = LoadFeatures(launch.market, bar, chunk);
    if (step > 0 && real) {
      WriteSpeculatedRow(launch, memory, candidate.record, writer, index, step - 1, lane);
    }
    if (chunk == 0) {
      mine.inputs[(step + 1) & 1][state] =
          Speculation::InputsOf(launch, real ? index : 0, step + 1, bar, rng);
    }
    PutFeatures(memory, state, 0, chunk, features);
    PassMatrix();
    ArriveWithStates<1>();
    PassSpeculators<1>();
    taken = TakenAction(launch, memory, step, active, drawn, lane);
    if (lane == 0) memory.ExpectOutputs();
    SyncBlock();  // the next state is there
  }
  WaitCopies();
  if (!real) return;
  const Candidate& candidate = mine.candidates[launch.steps & 1][taken];
  WriteSpeculatedRow(launch, memory, candidate.record, writer, index, launch.steps - 1, lane);
  SlotState& out = launch.slots[index];
  const bool fresh = memory.portfolio[0].w != 0.0f && recycles;
  if (lane == 0) candidate.Get().Store(out);
  if (lane < kDiversityWindow / 4) {
    reinterpret_cast<uint32_t*>(out.category_window)[lane] = fresh ? 0 : mine.window[lane];
  }
}

}  // namespace vixen::kernels::resident
