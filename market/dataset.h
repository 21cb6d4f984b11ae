// SPDX-License-Identifier: Apache-2.0
// The dataset: what an executor reads and what both ends of the stream must hold. Layout and
// meaning: docs/formats.md; rules: docs/environment.md ("Dataset").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "base/tensor_file.h"

namespace vixen::market {

// How raw feature columns were standardised: y = clamp((x − mean)/scale, −10, 10). `--raw`: 0
// and 1.
struct Scaler {
  std::vector<double> mean;   // [F]
  std::vector<double> scale;  // [F], > 0

  // SHA-256(F u32 LE ‖ names, each UTF-8 + newline ‖ mean F64 ‖ scale F64).
  base::Sha256Digest Fingerprint(std::span<const std::string> feature_names) const;
};

// Bars [begin, end).
struct BarRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Immutable after construction; safe to read from any thread. Owns its memory (a mapped file or
// vectors), so copies of the shared_ptr are the way to pass it on.
class Dataset {
 public:
  // The parts of a dataset under construction; Create() checks all of them.
  struct Parts {
    std::vector<std::string> feature_names;  // F names, unique, non-empty
    std::vector<float> features;             // [T, F] row-major
    std::vector<float> targets;              // [T, 4] close, next_close, next_high, next_low
    std::vector<uint8_t> last;               // [T]
    std::vector<int64_t> timestamp;          // [T] ns UTC, start of the bar
    Scaler scaler;                           // left empty: 0 and 1, as of raw columns
    std::optional<uint64_t> train_rows;      // rows of the earlier side of a split by time
    std::string source;                      // where the bars came from, in words
    std::map<std::string, std::string> extra_metadata;
  };

  // Checks every rule of the specification ("Dataset", "Bad input"): widths, finite features,
  // positive finite targets, next_* consistent with the next row, segments of ≥ 2 bars with rising
  // timestamps, final bar last. Errors are INVALID_ARGUMENT and name row, column and value.
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(Parts parts);
  // Maps and checks a file as Create does, and compares the stored fingerprints (DATA_LOSS). Errors
  // name the file. O(T·F).
  static absl::StatusOr<std::shared_ptr<const Dataset>> Load(const std::string& path);

  // Temporary file, fsync, rename.
  absl::Status Write(const std::string& path) const;

  uint64_t bars() const { return last_.size(); }
  uint32_t feature_count() const { return static_cast<uint32_t>(feature_names_.size()); }
  std::span<const float> features() const { return features_; }
  std::span<const float> targets() const { return targets_; }
  std::span<const uint8_t> last() const { return last_; }
  std::span<const int64_t> timestamp() const { return timestamp_; }
  const std::vector<std::string>& feature_names() const { return feature_names_; }
  const Scaler& scaler() const { return scaler_; }
  std::optional<uint64_t> train_rows() const { return train_rows_; }
  const std::string& source() const { return source_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // SHA-256(F u32 LE ‖ T u64 LE ‖ features ‖ targets ‖ last).
  const base::Sha256Digest& fingerprint() const { return fingerprint_; }
  const base::Sha256Digest& scaler_fingerprint() const { return scaler_fingerprint_; }

  // The effective range of a run ("A run uses the bars [begin, end)"): end 0 means bars(). begin
  // moves up while it is a last bar, end down while bar end−1 is the first of its segment.
  // OUT_OF_RANGE or INVALID_ARGUMENT when nothing startable is left.
  absl::StatusOr<BarRange> EffectiveRange(uint64_t begin, uint64_t end) const;
  // The end of a range to learn from: `end`, or where it is 0 the end of the training rows of a
  // dataset split by time, else of all bars. Nobody must learn from the later side by default.
  uint64_t TrainingEnd(uint64_t end) const { return end != 0 ? end : train_rows_.value_or(bars()); }

 private:
  Dataset() = default;
  absl::Status ReadFrom(base::TensorFile file);
  absl::Status Check() const;
  void ComputeFingerprints();

  std::optional<base::TensorFile> file_;
  Parts owned_;
  std::vector<std::string> feature_names_;
  std::span<const float> features_;
  std::span<const float> targets_;
  std::span<const uint8_t> last_;
  std::span<const int64_t> timestamp_;
  Scaler scaler_;
  std::optional<uint64_t> train_rows_;
  std::string source_;
  std::map<std::string, std::string> metadata_;
  base::Sha256Digest fingerprint_{};
  base::Sha256Digest scaler_fingerprint_{};
};

}  // namespace vixen::market
