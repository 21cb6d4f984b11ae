// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/training_log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace vixen::learner {
namespace {

constexpr const char* kTerms[kernels::kRewardTerms] = {"pnl", "barrier", "risk", "diversity",
                                                       "curiosity"};

nlohmann::json Mean(double sum, uint64_t count) {
  if (count == 0) return nullptr;
  return sum / static_cast<double>(count);
}

// Bytes up to and with the last newline.
uint64_t WholeLines(std::ifstream& file, uint64_t size) {
  constexpr uint64_t kBlock = 4096;
  std::string block;
  for (uint64_t end = size; end > 0;) {
    const uint64_t begin = end > kBlock ? end - kBlock : 0;
    block.resize(end - begin);
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const size_t newline = block.rfind('\n');
    if (newline != std::string::npos) return begin + newline + 1;
    end = begin;
  }
  return 0;
}

absl::Status CutUnfinishedLine(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return absl::OkStatus();
  const uint64_t size = fs::file_size(path, error);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const uint64_t whole = error ? 0 : WholeLines(file, size);
  if (error || !file) {
    return base::ErrnoToStatus(error ? error.value() : errno == 0 ? EIO : errno, "read", path);
  }
  if (whole < size) fs::resize_file(path, whole, error);
  return error ? base::ErrnoToStatus(error.value(), "cut the last line of", path)
               : absl::OkStatus();
}

// Null where nothing was seen; else the p-quantiles by name.
nlohmann::json Quantiles(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  const auto at = [&](double p) {
    return values[static_cast<size_t>(std::lround(p * static_cast<double>(values.size() - 1)))];
  };
  return {{"p10", at(0.1)},
          {"p50", at(0.5)},
          {"p90", at(0.9)},
          {"p99", at(0.99)},
          {"max", values.back()}};
}

nlohmann::json Quantiles(const std::vector<float>& values) {
  return Quantiles(std::vector<double>(values.begin(), values.end()));
}

// By the number of each action that occurred.
nlohmann::json ActionShares(const LogWindow& window) {
  nlohmann::json shares = nlohmann::json::object();
  uint64_t rows = 0;
  for (const uint64_t count : window.actions) rows += count;
  for (size_t action = 0; action < window.actions.size(); ++action) {
    if (window.actions[action] == 0) continue;
    shares[std::to_string(action)] = Mean(static_cast<double>(window.actions[action]), rows);
  }
  return shares;
}

nlohmann::json ExposureShares(const kernels::LaunchStatistics& launches) {
  nlohmann::json shares = nlohmann::json::array();
  for (const uint64_t count : launches.exposure_class) {
    shares.push_back(Mean(static_cast<double>(count), launches.valid_rows));
  }
  return shares;
}

}  // namespace

std::array<double, kernels::kRewardTerms> VarianceShares(
    const kernels::LaunchStatistics& launches) {
  std::array<double, kernels::kRewardTerms> shares{};
  const auto rows = static_cast<double>(launches.valid_rows);
  if (rows == 0) return shares;
  double sum = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double mean = launches.term_sum[i] / rows;
    shares[i] = std::max(0.0, launches.term_sum_squares[i] / rows - mean * mean);
    sum += shares[i];
  }
  for (double& share : shares) share = sum > 0 ? share / sum : 0.0;
  return shares;
}

void LogWindow::Add(const UpdateStatistics& update) {
  max_q = updates == 0 ? update.max_q : std::max(max_q, update.max_q);
  ++updates;
  loss += update.loss;
  mean_abs_td += update.mean_abs_td;
  mean_q += update.mean_q;
  gradient_norm += update.gradient_norm;
  clipped_rows += update.clipped_rows;
}

absl::Status TrainingLog::Open(const std::string& path, bool append) {
  path_ = path;
  if (append) VIXEN_RETURN_IF_ERROR(CutUnfinishedLine(path));
  errno = 0;
  file_.open(path, append ? std::ios::app : std::ios::trunc);
  if (!file_) return base::ErrnoToStatus(errno, "open", path);
  return absl::OkStatus();
}

absl::Status TrainingLog::Write(const LogState& state, const LogWindow& window,
                                double window_seconds) {
  const kernels::LaunchStatistics& launches = window.launches;
  const double seconds = std::max(window_seconds, 1e-9);
  nlohmann::json rewards = nlohmann::json::object();
  for (int i = 0; i < kernels::kRewardTerms; ++i) {
    rewards[kTerms[i]] = Mean(launches.term_sum[i], launches.valid_rows);
  }
  nlohmann::json variance = nlohmann::json::object();
  const std::array<double, kernels::kRewardTerms> shares = VarianceShares(launches);
  for (size_t i = 0; i < shares.size(); ++i) {
    variance[kTerms[i]] = launches.valid_rows == 0 ? nlohmann::json() : nlohmann::json(shares[i]);
  }
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const nlohmann::json line = {
      {"time", now},
      {"seconds", state.seconds},
      {"transitions", state.transitions},
      {"updates", state.updates},
      {"loss", Mean(window.loss, window.updates)},
      {"mean_abs_td", Mean(window.mean_abs_td, window.updates)},
      {"q_mean", Mean(window.mean_q, window.updates)},
      {"q_max", window.updates == 0 ? nlohmann::json() : nlohmann::json(window.max_q)},
      {"gradient_norm", Mean(window.gradient_norm, window.updates)},
      {"td", Quantiles(window.abs_td)},
      {"q_taken", Quantiles(window.taken_q)},
      {"clipped_share", Mean(window.clipped_rows, window.updates)},
      {"effective_sample_share", Mean(window.effective_samples, window.updates)},
      {"sampled_age_versions", Quantiles(window.age_versions)},
      {"sampled_age_seconds", Quantiles(window.age_seconds)},
      {"reward_variance_share", variance},
      {"action_share", ActionShares(window)},
      {"exposure_share", ExposureShares(launches)},
      {"curiosity_loss", Mean(window.curiosity_loss, window.curiosity_updates)},
      {"epsilon", state.epsilon},
      {"beta", state.beta},
      {"reward_mean", rewards},
      {"episodes_ended", launches.episodes_ended},
      {"episode_return_mean", Mean(launches.episode_return_sum, launches.episodes_ended)},
      {"trades", launches.trades},
      {"staleness_versions", Mean(window.staleness, window.batches)},
      {"online_version", state.online_version},
      {"transitions_per_second", static_cast<double>(window.rows) / seconds},
      {"updates_per_second", static_cast<double>(window.updates) / seconds},
      {"samples_per_second", static_cast<double>(window.samples) / seconds},
      {"learners_needed",
       state.learners_needed < 0 ? nlohmann::json() : nlohmann::json(state.learners_needed)},
      {"replay_rows", state.replay_rows},
      {"limiter_error", state.limiter_error},
      {"learner_wait_seconds", state.learner_wait_seconds},
      {"actor_wait_seconds", state.actor_wait_seconds},
  };
  if (!file_.is_open()) VIXEN_RETURN_IF_ERROR(Open(path_, /*append=*/true));
  errno = 0;
  file_ << line.dump() << '\n' << std::flush;
  if (file_) return absl::OkStatus();
  const int error = errno == 0 ? EIO : errno;
  file_ = std::ofstream();  // opened anew for the next line, which cuts off what got through
  return base::ErrnoToStatus(error, "write", path_);
}

std::string ProgressLine(const LogState& state, const LogWindow& window, double window_seconds) {
  const double seconds = std::max(window_seconds, 1e-9);
  std::string line = absl::StrFormat("%d transitions  %.0f/s  %.0f updates/s  ε %.3f",
                                     state.transitions, static_cast<double>(window.rows) / seconds,
                                     static_cast<double>(window.updates) / seconds, state.epsilon);
  if (window.updates > 0) {
    absl::StrAppendFormat(&line, "  loss %.4g", window.loss / static_cast<double>(window.updates));
  }
  if (window.launches.valid_rows > 0) {
    absl::StrAppend(&line, "  reward");
    for (int i = 0; i < kernels::kRewardTerms; ++i) {
      absl::StrAppendFormat(
          &line, " %s %+.3g", kTerms[i],
          window.launches.term_sum[i] / static_cast<double>(window.launches.valid_rows));
    }
  }
  if (window.batches > 0) {
    absl::StrAppendFormat(&line, "  stale %.1f",
                          window.staleness / static_cast<double>(window.batches));
  }
  if (state.eta_seconds >= 0) {
    const auto eta = static_cast<int64_t>(state.eta_seconds);
    absl::StrAppendFormat(&line, "  ETA %d:%02d", eta / 60, eta % 60);
  }
  return line;
}

}  // namespace vixen::learner
