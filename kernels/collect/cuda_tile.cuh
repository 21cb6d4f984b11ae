// SPDX-License-Identifier: Apache-2.0
// One network pass over 64 rows a warpgroup: weights stream through a ring of shared memory stages,
// activations stay in registers (the sums of a layer become the A operands of the next). sm_90a.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/collect/cuda_wgmma.cuh"
#include "kernels/env/settings.h"

namespace vixen::kernels {

inline constexpr int kRing = 4;  // stages in shared memory

// `kGroups` warpgroups of 64 rows, and one whose first thread streams the weights.
template <int kGroups>
constexpr int TileThreads() {
  return 128 * (kGroups + 1);
}

// --- mbarriers
// --------------------------------------------------------------------------------------
__device__ __forceinline__ void BarrierInit(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void BarrierFenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void BarrierExpect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void BarrierArrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void BarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra.uni done;\nbra.uni wait;\ndone:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// The ring of weight stages. `full` and `empty` are kRing barriers each.
struct Ring {
  uint32_t stages;  // shared memory addresses
  uint32_t full;
  uint32_t empty;
  int place = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void Advance() {
    if (++place == kRing) {
      place = 0;
      parity ^= 1;
    }
  }
  // Consumer: address of the stage that comes next, filled.
  __device__ __forceinline__ uint32_t Wait() const {
    BarrierWait(full + 8 * place, parity);
    return stages + place * tile::kStageBytes;
  }
  // Consumer: this warp is done with stage `which`.
  __device__ __forceinline__ void Release(int which, int lane) const {
    __syncwarp();
    if (lane == 0) BarrierArrive(empty + 8 * which);
  }
};

// Producer thread: streams one pass of `image` through the ring.
__device__ __forceinline__ void StreamPass(Ring& ring, const std::byte* image) {
#pragma unroll 1
  for (int stage = 0; stage < tile::kStages; ++stage) {
    const uint32_t bytes = tile::StageBytes(stage);
    BarrierWait(ring.empty + 8 * ring.place, ring.parity ^ 1);
    BarrierExpect(ring.full + 8 * ring.place, bytes);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(ring.stages + ring.place * tile::kStageBytes),
        "l"(image), "r"(bytes), "r"(ring.full + 8 * ring.place)
        : "memory");
    image += bytes;
    ring.Advance();
  }
}

// The ring's memory, one a block.
struct alignas(1024) RingMemory {
  std::byte stages[kRing * tile::kStageBytes];
  uint64_t full[kRing];
  uint64_t empty[kRing];
};

__device__ __forceinline__ Ring StartRing(RingMemory& memory, int consumer_warps) {
  Ring ring{SharedAddress(memory.stages), SharedAddress(memory.full), SharedAddress(memory.empty)};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kRing; ++i) {
      BarrierInit(ring.full + 8 * i, 1);
      BarrierInit(ring.empty + 8 * i, consumer_warps);
    }
    BarrierFenceInit();
  }
  return ring;
}

template <int kGroups>
__device__ __forceinline__ void TakeRegisters() {
  if constexpr (kGroups == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}
template <int kGroups>
__device__ __forceinline__ void GiveRegisters() {
  if constexpr (kGroups == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
}

__device__ __forceinline__ void PrefetchL2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// A operands of the first layer: rows lane/4 and + 8, the quad's 16 columns of each.
struct StateFragment {
  uint32_t word[4][4];
};

// `packed_row` of the bar, portfolio features put at columns F … F + 2. Two of them make a
// fragment.
struct StateHalf {
  uint32_t word[8];
};
__device__ __forceinline__ StateHalf LoadStateHalf(const uint16_t* packed, uint32_t bar,
                                                   uint32_t features, const float* portfolio,
                                                   int quad) {
  const uint4* source =
      reinterpret_cast<const uint4*>(packed + static_cast<size_t>(bar) * 64) + 2 * quad;
  const uint4 low = source[0];
  const uint4 high = source[1];
  StateHalf half = {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
#pragma unroll
  for (int i = 0; i < kPortfolioFeatures; ++i) {
    const int column = static_cast<int>(features) + i - 16 * quad;
    const uint32_t bits = PackHalf(portfolio[i], 0.0f) & 0xffffu;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      if (column == 2 * w) half.word[w] = (half.word[w] & 0xffff0000u) | bits;
      if (column == 2 * w + 1) half.word[w] = (half.word[w] & 0xffffu) | bits << 16;
    }
  }
  return half;
}
__device__ __forceinline__ StateFragment FragmentOf(const StateHalf& low, const StateHalf& high) {
  StateFragment fragment;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    fragment.word[i][0] = low.word[2 * i];
    fragment.word[i][1] = high.word[2 * i];
    fragment.word[i][2] = low.word[2 * i + 1];
    fragment.word[i][3] = high.word[2 * i + 1];
  }
  return fragment;
}

// Sums of kNeurons → A operands of the next layer. `bias_low` and `bias_high` are the biases of
// rows lane/4 and + 8 (the same but for the curiosity model's category).
template <int kNeurons>
__device__ __forceinline__ void Activate(const float (&d)[kNeurons / 2], const float* bias_low,
                                         const float* bias_high, int quad, uint32_t* a) {
#pragma unroll
  for (int j = 0; j < kNeurons / 8; ++j) {
    const float2 low = *reinterpret_cast<const float2*>(bias_low + 8 * j + 2 * quad);
    const float2 high = *reinterpret_cast<const float2*>(bias_high + 8 * j + 2 * quad);
    const int at = 4 * (j / 2) + 2 * (j % 2);
    a[at] = PackRectified(d[4 * j] + low.x, d[4 * j + 1] + low.y);
    a[at + 1] = PackRectified(d[4 * j + 2] + high.x, d[4 * j + 3] + high.y);
  }
}

// Q of rows lane/4 (index 0) and + 8 (index 1): this quad lane's columns 8·j + 2·quad + u.
struct TileQ {
  float advantage[2][12];  // [row][2·j + u], bias added
  float base[2];           // value − mean(advantage)
};

// Biases in shared memory in the order of BiasLayout.
inline constexpr int kTileBiases = 948;

__device__ __forceinline__ float QuadSum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

__device__ __forceinline__ TileQ NetworkPass(Ring& ring, const float* biases,
                                             const StateFragment& state, int lane) {
  const int quad = lane % 4;
  __syncwarp();
  uint32_t hidden[64];
  int pending = -1;
  {
    // Layer 0 of the next 64 neurons runs ahead of layer 1 over the present ones, so that
    // activations are computed while the matrix units are busy.
    float h1[128];
    float h0[32];
    const auto layer0 = [&](uint32_t stage) {
      WgmmaFence();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        Wgmma<64>(h0, state.word[i], TileDescriptor(stage + 32 * i), i > 0);
      }
      WgmmaCommit();
    };
    uint32_t stage = ring.Wait();
    layer0(stage);
    WgmmaWait<0>();
    uint32_t a[2][16];
    Activate<64>(h0, biases, biases, quad, a[0]);
#pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk) {
      const int present = ring.place;
      ring.Advance();
      const uint32_t next = chunk < 3 ? ring.Wait() : 0;
      if (chunk < 3) layer0(next);
      WgmmaFence();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        Wgmma<256>(h1, a[chunk % 2] + 4 * i, TileDescriptor(stage + 8192 + 32 * i),
                   chunk > 0 || i > 0);
      }
      WgmmaCommit();
      if (chunk < 3) {
        WgmmaWait<1>();
        // Layer 1 of the chunk before is done as well.
        if (chunk > 0) ring.Release(pending, lane);
        const float* bias = biases + 64 * (chunk + 1);
        Activate<64>(h0, bias, bias, quad, a[(chunk + 1) % 2]);
      } else {
        WgmmaWait<0>();
        ring.Release(pending, lane);
      }
      pending = present;
      stage = next;
    }
    ring.Release(pending, lane);
    Activate<256>(h1, biases + 256, biases + 256, quad, hidden);
  }
  TileQ q;
  uint32_t advantage[32];
#pragma unroll
  for (int stream = 0; stream < 2; ++stream) {
    float h2[64];
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
      const uint32_t stage = ring.Wait();
      WgmmaFence();
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        Wgmma<128>(h2, hidden + (8 * chunk + i) * 4,
                   TileDescriptor(stage + (i / 4) * 16384 + 32 * (i % 4)), chunk > 0 || i > 0);
      }
      WgmmaCommit();
      if (chunk > 0) {
        WgmmaWait<1>();
        ring.Release(pending, lane);
      }
      pending = ring.place;
      ring.Advance();
    }
    WgmmaWait<0>();
    ring.Release(pending, lane);
    const float* bias = biases + 512 + 128 * stream;
    if (stream == 1) {
      Activate<128>(h2, bias, bias, quad, advantage);
      continue;
    }
    float low = 0.0f;
    float high = 0.0f;
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const float2 b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * quad);
      const float2 w = *reinterpret_cast<const float2*>(biases + 768 + 8 * j + 2 * quad);
      low = fmaf(LeakyRelu(h2[4 * j] + b.x), w.x, fmaf(LeakyRelu(h2[4 * j + 1] + b.y), w.y, low));
      high = fmaf(LeakyRelu(h2[4 * j + 2] + b.x), w.x,
                  fmaf(LeakyRelu(h2[4 * j + 3] + b.y), w.y, high));
    }
    q.base[0] = QuadSum(low) + biases[944];
    q.base[1] = QuadSum(high) + biases[944];
  }
  float out[24];
  const uint32_t stage = ring.Wait();
  WgmmaFence();
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    Wgmma<48>(out, advantage + 4 * i, TileDescriptor(stage + (i / 4) * 6144 + 32 * (i % 4)), i > 0);
  }
  WgmmaCommit();
  WgmmaWait<0>();
  ring.Release(ring.place, lane);
  ring.Advance();
  float sum[2] = {0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < 6; ++j) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int action = 8 * j + 2 * quad + u;
      const float bias = biases[896 + action];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float value = out[4 * j + 2 * r + u] + bias;
        q.advantage[r][2 * j + u] = value;
        if (action < kActions) sum[r] += value;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) q.base[r] -= QuadSum(sum[r]) / static_cast<float>(kActions);
  return q;
}

// The lowest index of the largest over the allowed actions (GreedyAction), the same in the quad's
// lanes.
__device__ __forceinline__ int QuadGreedy(const TileQ& q, int r, uint64_t allowed, int quad) {
  int best = static_cast<int>(0x80000000u);
  int action = 64;
#pragma unroll
  for (int j = 0; j < 6; ++j) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int a = 8 * j + 2 * quad + u;
      const int order = OrderOf(q.advantage[r][2 * j + u]);
      if ((allowed >> a & 1) != 0 && (order > best || action == 64)) {
        best = order;
        action = a;
      }
    }
  }
#pragma unroll
  for (int offset = 1; offset < 4; offset *= 2) {
    const int other_best = __shfl_xor_sync(kAllLanes, best, offset);
    const int other = __shfl_xor_sync(kAllLanes, action, offset);
    if (other < 64 &&
        (action == 64 || other_best > best || (other_best == best && other < action))) {
      best = other_best;
      action = other;
    }
  }
  return action;
}

// Q of `action`, the same in the quad's lanes.
__device__ __forceinline__ float QuadQ(const TileQ& q, int r, int action, int quad) {
  float mine = 0.0f;
#pragma unroll
  for (int j = 0; j < 6; ++j) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      if (action == 8 * j + 2 * quad + u) mine = q.advantage[r][2 * j + u];
    }
  }
  return q.base[r] + QuadSum(mine);
}

}  // namespace vixen::kernels
