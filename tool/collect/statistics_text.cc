// SPDX-License-Identifier: Apache-2.0
#include "tool/collect/statistics_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "base/str_cat.h"
#include "tool/eval/evaluation.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr const char* kLevels[] = {"short", "half short", "flat", "half long", "long"};
constexpr const char* kResults[] = {"none", "profit", "stop", "time"};

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double MeanDeviation(double sum, double squares, double n, double& deviation) {
  const double mean = Ratio(sum, n);
  deviation = std::sqrt(std::max(Ratio(squares, n) - mean * mean, 0.0));
  return mean;
}

}  // namespace

std::string StatisticsText(const kernels::LaunchStatistics& s, uint64_t launches) {
  const auto n = static_cast<double>(s.valid_rows);
  const auto shares = RewardVarianceShares(s);
  std::string text = base::StrCat(Count(launches), launches == 1 ? " launch, " : " launches, ",
                                  Plural(s.valid_rows, "valid row"), ", ",
                                  Percent(Ratio(s.explored, n)), " explored\n");
  text += absl::StrFormat("Profit is %s of the reward's variance.\n", Percent(shares[0]));
  text += absl::StrFormat("  %-10s %14s %14s %14s\n", "term", "mean", "deviation", "variance");
  for (size_t i = 0; i < shares.size(); ++i) {
    double deviation = 0;
    const double mean = MeanDeviation(s.term_sum[i], s.term_sum_squares[i], n, deviation);
    text += absl::StrFormat("  %-10s %14.4g %14.4g %14s\n", RewardTermNames()[i], mean, deviation,
                            Percent(shares[i]));
  }
  text += "Exposure  ";
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    base::StrAppend(&text, i == 0 ? "" : ", ", kLevels[i], " ",
                    Percent(Ratio(s.exposure_class[i], n)));
  }
  text += "\nBarriers  ";
  for (size_t i = 0; i < std::size(kResults); ++i) {
    base::StrAppend(&text, i == 0 ? "" : ", ", kResults[i], " ",
                    Percent(Ratio(s.barrier_result[i], n)));
  }
  double reward_deviation = 0, return_deviation = 0;
  const auto ended = static_cast<double>(s.episodes_ended);
  const double reward =
      MeanDeviation(s.episode_reward_sum, s.episode_reward_sum_squares, ended, reward_deviation);
  const double net =
      MeanDeviation(s.episode_return_sum, s.episode_return_sum_squares, ended, return_deviation);
  text += absl::StrFormat(
      "\nEpisodes  %s ended (%s terminated, %s truncated), mean length %.1f, reward %.4g ± %.4g, "
      "net "
      "return %s ± %s\n",
      Count(s.episodes_ended), Count(s.terminated), Count(s.truncated),
      Ratio(static_cast<double>(s.episode_length_sum), ended), reward, reward_deviation,
      Percent(net), Percent(return_deviation));
  text += absl::StrFormat("Trading   %s fills, %.4g × capital traded, costs %.4g × capital\n",
                          Count(s.trades), s.traded_notional, s.costs);
  text += absl::StrFormat("TD error  mean %.4g, maximum %.4g\n", Ratio(s.td_sum, n), s.td_max);
  if (s.clamped_activations > 0) {
    text += absl::StrFormat("fp16      %d activations clamped to 65504\n", s.clamped_activations);
  }
  return text;
}

nlohmann::ordered_json StatisticsJson(const kernels::LaunchStatistics& s, uint64_t launches) {
  nlohmann::ordered_json json;
  const auto n = static_cast<double>(s.valid_rows);
  json["launches"] = launches;
  json["valid_rows"] = s.valid_rows;
  json["explored"] = s.explored;
  const auto shares = RewardVarianceShares(s);
  for (size_t i = 0; i < shares.size(); ++i) {
    double deviation = 0;
    const double mean = MeanDeviation(s.term_sum[i], s.term_sum_squares[i], n, deviation);
    json["reward"][RewardTermNames()[i]] = {{"sum", s.term_sum[i]},
                                            {"mean", mean},
                                            {"deviation", deviation},
                                            {"variance_share", shares[i]}};
  }
  for (size_t i = 0; i < std::size(kLevels); ++i)
    json["exposure"][kLevels[i]] = s.exposure_class[i];
  for (size_t i = 0; i < std::size(kResults); ++i)
    json["barrier"][kResults[i]] = s.barrier_result[i];
  json["terminated"] = s.terminated;
  json["truncated"] = s.truncated;
  json["episodes_ended"] = s.episodes_ended;
  json["episode_reward_sum"] = s.episode_reward_sum;
  json["episode_return_sum"] = s.episode_return_sum;
  json["episode_length_sum"] = s.episode_length_sum;
  json["trades"] = s.trades;
  json["traded_notional"] = s.traded_notional;
  json["costs"] = s.costs;
  json["td_mean"] = Ratio(s.td_sum, n);
  json["td_max"] = s.td_max;
  json["clamped_activations"] = s.clamped_activations;
  return json;
}

}  // namespace vixen::tool
