// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tool/eval/evaluation.h"

namespace vixen::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "vixen evaluation";

// Writes into or reads from a JSON object with one description of the fields for both ways. Reading
// remembers the first fault.
class Fields {
 public:
  static Fields Writing(Json& object) { return Fields(object, false); }
  static Fields Reading(const Json& object) { return Fields(const_cast<Json&>(object), true); }

  template <typename T>
  void operator()(const char* key, T& value) {
    if (!reading_) {
      object_[key] = value;
      return;
    }
    const auto found = object_.find(key);
    if (found == object_.end()) return Fault(key, "is missing");
    if constexpr (std::is_same_v<T, double>) {
      if (!found->is_number()) return Fault(key, "is not a number");
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!found->is_boolean()) return Fault(key, "is not true or false");
    } else if constexpr (std::is_integral_v<T>) {
      if (!found->is_number_integer()) return Fault(key, "is not an integer");
    }
    value = found->template get<T>();
  }

  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (!reading_) {
      object_[key] = value ? Json(*value) : Json(nullptr);
      return;
    }
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return;
    value = found->template get<T>();
  }

  template <typename T, size_t kSize>
  void Array(const char* key, T (&values)[kSize]) {
    std::array<T, kSize> copy;
    std::copy(std::begin(values), std::end(values), copy.begin());
    (*this)(key, copy);
    std::copy(copy.begin(), copy.end(), std::begin(values));
  }

  void Fault(const char* key, const char* what) {
    if (fault_.empty()) fault_ = absl::StrCat(key, " ", what);
  }
  const std::string& fault() const { return fault_; }

 private:
  Fields(Json& object, bool reading) : object_(object), reading_(reading) {}
  Json& object_;
  bool reading_;
  std::string fault_;
};

void Visit(Fields& f, EvaluationIdentity& v) {
  f("software_version", v.software_version);
  f("dataset", v.dataset_path);
  f("dataset_fingerprint", v.dataset_fingerprint);
  f("dataset_source", v.dataset_source);
  f("dataset_bars", v.dataset_bars);
  f("dataset_segments", v.dataset_segments);
  f("train_rows", v.train_rows);
  f("scaler_fingerprint", v.scaler_fingerprint);
  f("weights", v.weights_path);
  f("policy", v.policy);
  f("architecture", v.architecture);
  f("online_version", v.online_version);
  f("target_version", v.target_version);
  f("curiosity_version", v.curiosity_version);
  f("training_step", v.training_step);
  f("precision", v.precision);
  f("device", v.device);
}

void Visit(Fields& f, Annualisation& v) {
  f("steps_a_year", v.steps_a_year);
  f("how", v.how);
  f("bar_seconds", v.bar_seconds);
  f("years", v.years);
}

void Visit(Fields& f, EvaluationPart& v) {
  f("begin", v.begin);
  f("end", v.end);
  f("first_step", v.first_step);
  f("steps", v.steps);
  f("begin_time", v.begin_time);
  f("begin_price", v.begin_price);
  f("capital", v.capital);
  f("ended_by_ruin", v.ended_by_ruin);
}

void Visit(Fields& f, Trade& v) {
  f("entry_step", v.entry_step);
  f("exit_step", v.exit_step);
  f("entry_time", v.entry_time);
  f("exit_time", v.exit_time);
  f("units", v.units);
  f("last_units", v.last_units);
  f("entry_price", v.entry_price);
  f("exit_price", v.exit_price);
  f("bars", v.bars);
  f("resizes", v.resizes);
  f("profit", v.profit);
  f("costs", v.costs);
  f("open", v.open);
}

void Visit(Fields& f, kernels::LaunchStatistics& v) {
  f.Array("reward_term_sum", v.term_sum);
  f.Array("reward_term_sum_squares", v.term_sum_squares);
  f("steps", v.valid_rows);
  f("explored", v.explored);
  f.Array("exposure_class", v.exposure_class);
  f.Array("barrier_result", v.barrier_result);
  f("terminated", v.terminated);
  f("truncated", v.truncated);
  f("trades", v.trades);
  f("td_sum", v.td_sum);
  f("td_max", v.td_max);
}

void Visit(Fields& f, RandomTiming& v) {
  f("shifts", v.shifts);
  f("as_good", v.as_good);
  f("mean_return", v.mean_return);
  f("shifted_mean_return", v.shifted_mean_return);
}

void Visit(Fields& f, EvaluationSeries& v) {
  f("time", v.time);
  f("close", v.close);
  f("position", v.position);
  f("exposure", v.exposure);
  f("equity", v.equity);
  f("buy_and_hold", v.buy_and_hold);
}

void VisitTop(Fields& f, Evaluation& v) {
  f("begin", v.begin);
  f("end", v.end);
  f("initial_capital", v.initial_capital);
  f("calendar", v.calendar);
  f("risk_free", v.risk_free);
  f("settings_origin", v.settings_origin);
  f("action_counts", v.action);
  f("reward_equity_correlation", v.reward_equity_correlation);
  f("largest_equity_difference", v.largest_equity_difference);
  f("warnings", v.warnings);
}

template <typename T>
Json ToJson(const T& value) {
  Json object = Json::object();
  Fields fields = Fields::Writing(object);
  Visit(fields, const_cast<T&>(value));
  return object;
}

template <typename T>
absl::Status FromJson(const Json& top, const char* key, T& value) {
  const auto found = top.find(key);
  if (found == top.end() || !found->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is missing"));
  }
  Fields fields = Fields::Reading(*found);
  Visit(fields, value);
  if (!fields.fault().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(key, ".", fields.fault()));
  }
  return absl::OkStatus();
}

// Numbers and nulls under "metrics", the nulls' reasons under "reasons": a reader finds plain
// numbers.
void WriteMetrics(const char* name, const Metrics& metrics, Json& top) {
  Json values = Json::object();
  Json reasons = Json::object();
  for (const MetricSpec& spec : MetricSpecs()) {
    const std::string key(spec.key);
    const Metric& metric = metrics[spec.id];
    values[key] = metric.value ? Json(*metric.value) : Json(nullptr);
    if (!metric.value) reasons[key] = metric.reason;
  }
  values["drawdown_recovered"] = metrics.recovered;
  values["ruined"] = metrics.ruined;
  top["metrics"][name] = std::move(values);
  top["reasons"][name] = std::move(reasons);
}

absl::Status ReadMetrics(const char* name, const Json& top, Metrics& metrics) {
  const Json& values = top.at("metrics").at(name);
  const Json& reasons = top.at("reasons").at(name);
  for (const MetricSpec& spec : MetricSpecs()) {
    const std::string key(spec.key);
    const Json& value = values.at(key);
    if (value.is_number()) {
      metrics[spec.id].value = value.get<double>();
    } else if (value.is_null()) {
      metrics[spec.id].reason = reasons.value(key, "");
    } else {
      return absl::InvalidArgumentError(absl::StrCat("metrics.", name, ".", key, " is no number"));
    }
  }
  metrics.recovered = values.at("drawdown_recovered").get<bool>();
  metrics.ruined = values.at("ruined").get<bool>();
  return absl::OkStatus();
}

absl::Status CheckSeries(const EvaluationSeries& series) {
  const size_t n = series.time.size();
  if (n == 0) return absl::InvalidArgumentError("series.time is empty");
  const std::pair<const char*, const std::vector<double>*> columns[] = {
      {"close", &series.close},
      {"position", &series.position},
      {"exposure", &series.exposure},
      {"equity", &series.equity},
      {"buy_and_hold", &series.buy_and_hold}};
  for (const auto& [name, values] : columns) {
    if (values->size() != n) {
      return absl::InvalidArgumentError(
          absl::StrCat("series.", name, " has ", values->size(), " values, series.time has ", n));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const Evaluation& evaluation) {
  uint64_t step = 0;
  for (const EvaluationPart& part : evaluation.parts) {
    if (part.first_step != step || part.steps == 0 || part.steps > evaluation.steps() - step) {
      return absl::InvalidArgumentError(
          absl::StrCat("parts do not cover the steps one after another at step ", step));
    }
    step += part.steps;
  }
  if (step != evaluation.steps()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parts hold ", step, " steps, the series ", evaluation.steps()));
  }
  for (const Trade& trade : evaluation.trades) {
    if (trade.entry_step > trade.exit_step || trade.exit_step >= evaluation.steps()) {
      return absl::InvalidArgumentError(absl::StrCat("trades: steps ", trade.entry_step, " to ",
                                                     trade.exit_step, " are outside the series"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTop(const Json& top, Evaluation& evaluation) {
  if (!top.is_object() || top.value("format", "") != kFormat) {
    return absl::InvalidArgumentError("is not an evaluation file (vixen eval writes them)");
  }
  const int version = top.value("format_version", 0);
  if (version != kEvaluationFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "format_version ", version, ", this program reads ", kEvaluationFormatVersion));
  }
  Fields fields = Fields::Reading(top);
  VisitTop(fields, evaluation);
  if (!fields.fault().empty()) return absl::InvalidArgumentError(fields.fault());
  VIXEN_RETURN_IF_ERROR(FromJson(top, "identity", evaluation.identity));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "annualisation", evaluation.annualisation));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "counts", evaluation.statistics));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "random_timing", evaluation.random_timing));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "series", evaluation.series));
  for (const auto& [name, value] : top.at("settings").items()) {
    evaluation.settings.emplace_back(name, value.get<std::string>());
  }
  for (const Json& object : top.at("parts")) {
    Fields part = Fields::Reading(object);
    Visit(part, evaluation.parts.emplace_back());
    if (!part.fault().empty()) return absl::InvalidArgumentError("parts: " + part.fault());
  }
  for (const Json& object : top.at("trades")) {
    Fields trade = Fields::Reading(object);
    Visit(trade, evaluation.trades.emplace_back());
    if (!trade.fault().empty()) return absl::InvalidArgumentError("trades: " + trade.fault());
  }
  VIXEN_RETURN_IF_ERROR(ReadMetrics("policy", top, evaluation.policy));
  VIXEN_RETURN_IF_ERROR(ReadMetrics("buy_and_hold", top, evaluation.buy_and_hold));
  VIXEN_RETURN_IF_ERROR(ReadMetrics("flat", top, evaluation.flat));
  VIXEN_RETURN_IF_ERROR(CheckSeries(evaluation.series));
  return CheckParts(evaluation);
}

}  // namespace

std::string EvaluationToJson(const Evaluation& evaluation, bool summary_only) {
  Json top = Json::object();
  top["format"] = kFormat;
  top["format_version"] = kEvaluationFormatVersion;
  top["identity"] = ToJson(evaluation.identity);
  Fields fields = Fields::Writing(top);
  VisitTop(fields, const_cast<Evaluation&>(evaluation));
  top["annualisation"] = ToJson(evaluation.annualisation);
  top["settings"] = Json::object();
  for (const auto& [name, value] : evaluation.settings) top["settings"][name] = value;
  WriteMetrics("policy", evaluation.policy, top);
  WriteMetrics("buy_and_hold", evaluation.buy_and_hold, top);
  WriteMetrics("flat", evaluation.flat, top);
  top["counts"] = ToJson(evaluation.statistics);
  const auto shares = RewardVarianceShares(evaluation.statistics);
  for (size_t i = 0; i < shares.size(); ++i) {
    top["reward_variance_share"][RewardTermNames()[i]] = shares[i];
  }
  top["random_timing"] = ToJson(evaluation.random_timing);
  const auto text = [&top] {
    return top.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  if (summary_only) return text();
  top["parts"] = Json::array();
  for (const EvaluationPart& part : evaluation.parts) top["parts"].push_back(ToJson(part));
  top["trades"] = Json::array();
  for (const Trade& trade : evaluation.trades) top["trades"].push_back(ToJson(trade));
  top["series"] = ToJson(evaluation.series);
  return text();
}

absl::StatusOr<Evaluation> ParseEvaluation(const std::string& text, const std::string& source) {
  Evaluation evaluation;
  absl::Status status;
  try {
    status = ReadTop(Json::parse(text), evaluation);
  } catch (const Json::exception& error) {
    status = absl::InvalidArgumentError(error.what());
  }
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", status.message()));
  }
  return evaluation;
}

std::array<double, kernels::kRewardTerms> RewardVarianceShares(
    const kernels::LaunchStatistics& statistics) {
  std::array<double, kernels::kRewardTerms> variance{};
  const auto n = static_cast<double>(statistics.valid_rows);
  double sum = 0;
  for (size_t i = 0; i < variance.size(); ++i) {
    if (n == 0) break;
    const double mean = statistics.term_sum[i] / n;
    variance[i] = std::max(statistics.term_sum_squares[i] / n - mean * mean, 0.0);
    sum += variance[i];
  }
  if (sum > 0) {
    for (double& value : variance) value /= sum;
  }
  return variance;
}

const std::array<const char*, kernels::kRewardTerms>& RewardTermNames() {
  static constexpr std::array<const char*, kernels::kRewardTerms> kNames = {
      "pnl", "barrier", "risk", "diversity", "curiosity"};
  return kNames;
}

}  // namespace vixen::tool
