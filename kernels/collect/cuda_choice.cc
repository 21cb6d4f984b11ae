// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_choice.h"

#include "base/str_cat.h"

namespace vixen::kernels {

tile::Operand OperandOf(Precision precision) {
  switch (precision) {
    case Precision::kTf32:
      return tile::Operand::kTf32;
    case Precision::kFp32:
      return tile::Operand::kSplit;
    case Precision::kAuto:
    case Precision::kFp16:
      break;
  }
  return tile::Operand::kFp16;
}

std::vector<tile::Operand> OperandsOf(Precision precision) {
  if (precision == Precision::kAuto) return {tile::Operand::kFp16, tile::Operand::kTf32};
  return {OperandOf(precision)};
}

bool NeedsPackedRows(CudaAlgorithm algorithm, Precision precision) {
  return algorithm != CudaAlgorithm::kStepped && OperandOf(precision) == tile::Operand::kFp16;
}

TileForm FormOf(CudaAlgorithm algorithm) {
  return algorithm == CudaAlgorithm::kTiledMma || algorithm == CudaAlgorithm::kResidentSingle
             ? TileForm::kFragments
             : TileForm::kSwizzled;
}

bool HasTileWidths(const Architecture& a) {
  return a.features <= tile::kMostFeatures && a.state() >= 32 && a.hidden1 == tile::kHidden &&
         a.hidden2 == tile::kHidden && a.value_hidden == tile::kStream &&
         a.advantage_hidden == tile::kStream && a.curiosity_hidden == 64;
}

absl::StatusOr<AlgorithmChoice> ChooseAlgorithm(const CollectorOptions& options,
                                                CudaAlgorithm wanted, const CudaLimits& limits) {
  const bool widths = HasTileWidths(options.architecture);
  const bool tiled = widths && limits.tiles;
  const bool mma = widths && limits.mma_tiles;
  const bool resident = tiled && options.episodes <= limits.resident_episodes;
  const bool single = mma && options.episodes <= limits.single_episodes;
  const auto cannot = [&](CudaAlgorithm algorithm, std::string_view needs) {
    const std::string why =
        widths ? base::StrCat("it needs ", needs, "; this is sm_", limits.capability)
               : base::StrCat(
                     "the tile kernels have hidden widths 256-256/128,128, curiosity 64 and "
                     "29 … 59 features; these are ",
                     options.architecture.Describe());
    return absl::InvalidArgumentError(
        base::StrCat("algorithm = ", CudaAlgorithmName(algorithm), " cannot run here: ", why));
  };
  const auto too_many = [&](CudaAlgorithm algorithm, uint32_t most) {
    return absl::InvalidArgumentError(
        base::StrCat("algorithm = ", CudaAlgorithmName(algorithm),
                     " cannot run here: episodes = ", options.episodes, " is above ", most,
                     ", the most for precision = ", PrecisionName(options.precision)));
  };
  const AlgorithmChoice forced = {wanted, "forced by the setting"};
  switch (wanted) {
    case CudaAlgorithm::kStepped:
      return forced;
    case CudaAlgorithm::kResident:
      if (resident) return forced;
      if (tiled) return too_many(wanted, limits.resident_episodes);
      if (single) return AlgorithmChoice{CudaAlgorithm::kResidentSingle, forced.reason};
      if (mma) return too_many(CudaAlgorithm::kResidentSingle, limits.single_episodes);
      return cannot(wanted, "sm_80 or later");
    case CudaAlgorithm::kResidentSingle:
      if (single) return forced;
      if (mma) return too_many(wanted, limits.single_episodes);
      return cannot(wanted, "sm_80 or later");
    case CudaAlgorithm::kTiled:
      if (tiled) return forced;
      if (mma) return AlgorithmChoice{CudaAlgorithm::kTiledMma, forced.reason};
      return cannot(wanted, "sm_80 or later");
    case CudaAlgorithm::kTiledMma:
      if (mma) return forced;
      return cannot(wanted, "sm_80 or later");
    case CudaAlgorithm::kAuto:
      break;
  }
  if (resident) {
    return AlgorithmChoice{
        CudaAlgorithm::kResident,
        base::StrCat(options.episodes,
                     " episodes fit beside weights that stay in the SMs (at most ",
                     limits.resident_episodes, ")")};
  }
  if (tiled) {
    return AlgorithmChoice{
        CudaAlgorithm::kTiled,
        base::StrCat(options.episodes, " episodes are more than the ", limits.resident_episodes,
                     " that fit beside resident weights")};
  }
  if (single) {
    return AlgorithmChoice{
        CudaAlgorithm::kResidentSingle,
        base::StrCat("sm_", limits.capability, " has no clusters; ", options.episodes,
                     " episodes are at most the ", limits.single_episodes,
                     " that one network an SM takes in ", PrecisionName(options.precision))};
  }
  if (mma) {
    return AlgorithmChoice{
        CudaAlgorithm::kTiledMma,
        base::StrCat("sm_", limits.capability, " has no wgmma; ", options.episodes,
                     " episodes are more than the ", limits.single_episodes,
                     " that one network an SM takes in ", PrecisionName(options.precision))};
  }
  return AlgorithmChoice{CudaAlgorithm::kStepped,
                         base::StrCat("neither tiled nor resident: ",
                                      cannot(CudaAlgorithm::kTiled, "sm_80 or later").message())};
}

WeightsFit FitOf(const NetworkRange& range, const StateRange& states) {
  return {FitsFp16(range, states), FitsTf32(range, states), FitsSplit(range, states),
          FitsScaledFp16(range, states)};
}

WeightsFit Both(const WeightsFit& a, const WeightsFit& b) {
  return {a.fp16 && b.fp16, a.tf32 && b.tf32, a.split && b.split, a.scaled_fp16 && b.scaled_fp16};
}

LaunchChoice ChooseLaunch(const AlgorithmChoice& started, Precision configured,
                          const WeightsFit& fit) {
  const auto stepped = [](Precision precision, std::string_view why) {
    return LaunchChoice{CudaAlgorithm::kStepped, precision, std::string(why)};
  };
  const bool is_resident = started.algorithm == CudaAlgorithm::kResident ||
                           started.algorithm == CudaAlgorithm::kResidentSingle;
  const CudaAlgorithm tiles = FormOf(started.algorithm) == TileForm::kFragments
                                  ? CudaAlgorithm::kTiledMma
                                  : CudaAlgorithm::kTiled;
  const bool fits_tf32 = fit.tf32 && (tiles == CudaAlgorithm::kTiled || fit.scaled_fp16);
  const char* const no_tf32_tiles =
      fit.tf32 ? "activations might leave the range of scaled fp16, which tiles multiply tf32 in"
               : "activations might overflow in tiles of fp16 or tf32";
  switch (configured) {
    case Precision::kAuto:
      if (fit.fp16) return {started.algorithm, Precision::kFp16, started.reason};
      if (started.algorithm == CudaAlgorithm::kStepped) {
        return stepped(Precision::kTf32,
                       base::StrCat(started.reason, "; activations might leave fp16's range"));
      }
      if (!fits_tf32) return stepped(Precision::kTf32, no_tf32_tiles);
      // Resident weights are fp16; tiles scale them and take any number of episodes.
      return {tiles, Precision::kTf32, "activations might leave fp16's range"};
    case Precision::kFp16:
      if (fit.fp16) break;
      return stepped(configured, "activations might leave fp16's range, where they are clamped");
    case Precision::kTf32:
      if (fits_tf32) break;
      return stepped(configured, no_tf32_tiles);
    case Precision::kFp32:
      if (fit.split) break;
      return stepped(configured, "activations might leave the range of split products");
  }
  if (is_resident && !fit.fp16) {
    return {tiles, configured,
            "activations might leave fp16's range, which resident does not scale them into"};
  }
  return {started.algorithm, configured, started.reason};
}

}  // namespace vixen::kernels
