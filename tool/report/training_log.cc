// SPDX-License-Identifier: Apache-2.0
#include "tool/report/training_log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace vixen::tool {
namespace {

using Json = nlohmann::json;

constexpr int kDeepestNesting = 4;

void Collect(const Json& object, const std::string& prefix, int depth, TrainingLog& log) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix.empty() ? key : absl::StrCat(prefix, ".", key);
    if (value.is_number() && std::isfinite(value.get<double>())) {
      TrainingLog::Curve& curve = log.curves[name];
      curve.row.push_back(static_cast<double>(log.rows));
      curve.value.push_back(value.get<double>());
    } else if (value.is_object() && depth < kDeepestNesting) {
      Collect(value, name, depth + 1, log);
    }
  }
}

// What the horizontal axis counts: the first of these that every row of a curve has.
struct Progress {
  std::string label = "row of the log";
  const TrainingLog::Curve* curve = nullptr;

  double At(double row) const {
    if (curve == nullptr) return row;
    const auto found = std::lower_bound(curve->row.begin(), curve->row.end(), row);
    if (found == curve->row.end() || *found != row) return std::nan("");
    return curve->value[static_cast<size_t>(found - curve->row.begin())];
  }
};

Progress ProgressOf(const TrainingLog& log) {
  for (const char* name : {"transitions", "updates", "update", "step"}) {
    const auto found = log.curves.find(name);
    if (found == log.curves.end() || found->second.row.size() < 2) continue;
    if (!std::is_sorted(found->second.value.begin(), found->second.value.end())) continue;
    return {name, &found->second};
  }
  return {};
}

bool EndsWithWord(const std::string& name, const std::string& word) {
  if (!name.ends_with(word)) return false;
  const size_t before = name.size() - word.size();
  return before == 0 || name[before - 1] == '_' || name[before - 1] == '.';
}

void AddCurve(const TrainingLog& log, const Progress& progress, const std::string& name,
              const std::string& title, const std::string& style, Chart& chart) {
  ChartSeries series{title, style, Mark::kLine, {}, {}};
  const TrainingLog::Curve& curve = log.curves.at(name);
  for (size_t i = 0; i < curve.row.size(); ++i) {
    const double x = progress.At(curve.row[i]);
    if (!std::isfinite(x)) continue;
    series.x.push_back(x);
    series.y.push_back(curve.value[i]);
  }
  if (series.x.size() > 1) chart.series.push_back(std::move(series));
}

}  // namespace

absl::StatusOr<TrainingLog> ParseTrainingLog(const std::string& text, const std::string& source) {
  TrainingLog log;
  size_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) {
      if (at >= text.size()) {
        ++log.unreadable;
        break;
      }
      return absl::InvalidArgumentError(
          absl::StrCat(source, " line ", line_number, ": not a JSON object"));
    }
    Collect(object, "", 0, log);
    ++log.rows;
  }
  return log;
}

std::vector<TrainingChart> TrainingCharts(const TrainingLog& log) {
  const Progress progress = ProgressOf(log);
  const auto blank = [&](std::string heading, std::string caption) {
    TrainingChart result{std::move(heading), std::move(caption), {}};
    result.chart.title = result.heading;
    result.chart.x_format = AxisFormat::kCount;
    result.chart.x_label = progress.label;
    result.chart.height = 240;
    return result;
  };
  // The names that end with one of the words, the shortest first.
  const auto named = [&](std::initializer_list<const char*> words) {
    std::vector<std::string> names;
    for (const auto& [name, curve] : log.curves) {
      for (const char* word : words) {
        if (EndsWithWord(name, word)) {
          names.push_back(name);
          break;
        }
      }
    }
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return names;
  };

  std::vector<TrainingChart> charts;
  TrainingChart loss = blank("Loss", "Huber loss of the TD error; curiosity loss where trained.");
  size_t style = 1;
  for (const std::string& name : named({"loss"})) {
    if (style > 3) break;
    AddCurve(log, progress, name, name, absl::StrCat("c", style++), loss.chart);
  }
  loss.chart.y_log = true;
  charts.push_back(std::move(loss));

  TrainingChart terms = blank("Reward by term", "Mean a transition of each reward term.");
  terms.chart.zero_line = true;
  static constexpr const char* kTerms[] = {"pnl", "barrier", "risk", "diversity", "curiosity"};
  for (size_t i = 0; i < std::size(kTerms); ++i) {
    for (const std::string& name : named({kTerms[i]})) {
      if (name.find("reward") == std::string::npos && name.find("term") == std::string::npos) {
        continue;
      }
      AddCurve(log, progress, name, kTerms[i], absl::StrCat("c", i + 1), terms.chart);
      break;
    }
  }
  charts.push_back(std::move(terms));

  const auto single = [&](TrainingChart chart, std::initializer_list<const char*> words) {
    for (const std::string& name : named(words)) {
      AddCurve(log, progress, name, "", "policy", chart.chart);
      if (!chart.chart.series.empty()) break;
    }
    charts.push_back(std::move(chart));
  };
  TrainingChart reward = blank("Mean reward", "A transition, all terms together, while exploring.");
  reward.chart.zero_line = true;
  single(std::move(reward), {"mean_reward", "reward_mean", "reward"});

  TrainingChart episodes =
      blank("Return of episodes", "Mean net return of the episodes that ended.");
  episodes.chart.zero_line = true;
  episodes.chart.y_format = AxisFormat::kPercent;
  single(std::move(episodes), {"episode_return_mean"});

  TrainingChart values = blank("Value and TD error", "Means over the sampled rows of a window.");
  style = 1;
  for (const char* word : {"mean_abs_td", "q_mean", "q_max"}) {
    for (const std::string& name : named({word})) {
      AddCurve(log, progress, name, word, absl::StrCat("c", style++), values.chart);
      break;
    }
  }
  values.chart.zero_line = true;
  charts.push_back(std::move(values));

  single(blank("Score", "Share of the known optimum, where the market has one."), {"score"});

  TrainingChart epsilon = blank("Exploration ε", "Probability of a random action.");
  epsilon.chart.zero_line = true;
  single(std::move(epsilon), {"epsilon"});

  std::erase_if(charts, [](const TrainingChart& chart) { return chart.chart.series.empty(); });
  return charts;
}

}  // namespace vixen::tool
