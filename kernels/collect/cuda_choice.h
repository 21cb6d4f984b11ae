// SPDX-License-Identifier: Apache-2.0
// Which algorithm a CUDA executor runs, and why: by shape, precision and card when it starts, by
// the range of the weights at each launch. Plain functions of numbers; no GPU is asked here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"
#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_tile_image.h"
#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels {

// How the tile and the resident kernels compute in `precision` (auto: fp16).
tile::Operand OperandOf(Precision precision);
// All that launches of a configured precision may come to use.
std::vector<tile::Operand> OperandsOf(Precision precision);

// Whether launches read the dataset's rows as fp16, and how their tiles lie.
bool NeedsPackedRows(CudaAlgorithm algorithm, Precision precision);
TileForm FormOf(CudaAlgorithm algorithm);

// Hidden widths and features that the tile and the resident kernels are built for.
bool HasTileWidths(const Architecture& architecture);

// What the card allows.
struct CudaLimits {
  int capability = 0;              // 90 for sm_90
  bool tiles = false;              // it runs the tile kernels
  bool mma_tiles = false;          // it runs those of mma.sync
  uint32_t resident_episodes = 0;  // most that the resident algorithm takes, 0: none
  uint32_t single_episodes = 0;    // and without clusters
};

struct AlgorithmChoice {
  CudaAlgorithm algorithm = CudaAlgorithm::kStepped;
  std::string reason;
};
// INVALID_ARGUMENT when `wanted` is forced and cannot run.
absl::StatusOr<AlgorithmChoice> ChooseAlgorithm(const CollectorOptions& options,
                                                CudaAlgorithm wanted, const CudaLimits& limits);

// What the weights allow (all kinds that a launch reads).
struct WeightsFit {
  bool fp16 = true;
  bool tf32 = true;
  bool split = true;
  bool scaled_fp16 = true;  // what tiles of mma.sync compute tf32 with
};
WeightsFit FitOf(const NetworkRange& range, const StateRange& states);
WeightsFit Both(const WeightsFit& a, const WeightsFit& b);

struct LaunchChoice {
  CudaAlgorithm algorithm = CudaAlgorithm::kStepped;
  Precision precision = Precision::kFp32;
  std::string reason;
};
// `started`: of ChooseAlgorithm. Weights whose activations might leave the range of the operands
// run stepped, but `auto` goes from fp16 to tf32, and what resident cannot hold goes to tiles.
LaunchChoice ChooseLaunch(const AlgorithmChoice& started, Precision configured,
                          const WeightsFit& fit);

}  // namespace vixen::kernels
