// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "base/tensor_file_builder.h"
#include "base/worker_pool.h"
#include "market/bar.h"
#include "market/dataset.h"
#include "market/scaler.h"
#include "market/split.h"

namespace vixen::market {

// A dataset file under construction, larger than memory if need be: in this order AddBars, FitOn
// if a scaler is to be fitted, Put for every row, Fit or a scaler from elsewhere, Finish.
class DatasetFile {
 public:
  // `ranges`: the bars that become rows, in the order of the rows. `metadata_bytes`: at least the
  // length of source and extra metadata of Finish.
  static absl::StatusOr<DatasetFile> Create(const std::string& path,
                                            std::vector<std::string> feature_names,
                                            const std::vector<RowRange>& ranges,
                                            size_t metadata_bytes);

  // Targets, last and timestamp of all rows. INVALID_ARGUMENT for a price that float32 cannot hold.
  absl::Status AddBars(const Bars& bars);
  // Rows that Fit will be about, so that Put can begin with it.
  void FitOn(BarRange training);
  // Features of the bars from `first_bar` on, row-major; those of bars that are no rows are passed
  // over. Bars rise from call to call. Finish returns the error of a write that fails.
  void Put(uint64_t first_bar, std::span<const float> features);

  // Mean and deviation over the rows of FitOn.
  FittedScaler Fit();
  // Standardises the rows (with a scaler), computes the fingerprints and writes the file. Returns
  // the number of clipped values of each column and the fingerprint.
  struct Written {
    std::vector<uint64_t> clipped;
    std::string fingerprint;
  };
  absl::StatusOr<Written> Finish(const std::optional<FittedScaler>& fitted,
                                 const std::string& source, std::optional<uint64_t> train_rows,
                                 std::map<std::string, std::string> extra_metadata,
                                 base::WorkerPool& pool);

  uint64_t rows() const { return rows_; }

 private:
  struct Placed {
    RowRange bars;
    uint64_t row = 0;  // of the first of them
  };
  DatasetFile(std::vector<std::string> names, base::TensorFileBuilder builder);

  // Calls visit(rows of features) for pieces of the training rows and lets go of each.
  void ForEachTrainingPiece(const std::function<void(std::span<const float>)>& visit);
  // Scales (with a scaler), hashes and writes all rows, the next piece while one is hashed.
  absl::Status ScaleAndHash(const std::optional<FittedScaler>& fitted, base::WorkerPool& pool,
                            base::Sha256& file_hash, base::Sha256& data_hash,
                            std::vector<uint64_t>& clipped);

  std::vector<std::string> names_;
  base::TensorFileBuilder builder_;
  std::vector<Placed> order_;   // in the order of the rows
  std::vector<Placed> placed_;  // in the order of the bars
  uint64_t rows_ = 0;
  std::span<float> features_;
  BarRange training_{0, 0};
  std::optional<ScalerFit> fit_;
  bool fit_in_put_ = false;  // the training rows come to Put in their order
  absl::Status put_;
};

}  // namespace vixen::market
