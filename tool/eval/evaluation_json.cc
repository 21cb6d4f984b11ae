// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tool/eval/evaluation.h"
#include "tool/eval/evaluation_check.h"
#include "tool/eval/evaluation_fields.h"
#include "tool/eval/json_fields.h"
#include "tool/eval/metrics_json.h"

namespace vixen::tool {
namespace {

constexpr char kFormat[] = "vixen evaluation";

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

void WriteMetrics(const char* name, const Metrics& metrics, Json& top) {
  MetricsJson json = ToMetricsJson(metrics);
  top["metrics"][name] = std::move(json.values);
  top["reasons"][name] = std::move(json.reasons);
}

absl::Status ReadMetrics(const char* name, const Json& top, Metrics& metrics) {
  return ReadMetrics(absl::StrCat("metrics.", name), top.at("metrics").at(name),
                     top.at("reasons").at(name), metrics);
}

template <typename T>
Json SpreadsOf(const std::vector<T>& values, Metrics T::*own) {
  std::vector<const Metrics*> metrics;
  for (const T& value : values) metrics.push_back(&(value.*own));
  return SpreadsToJson(metrics);
}

// An array of objects with metrics of their own; `more` names further metrics beside "metrics".
template <typename T>
Json ManyToJson(const std::vector<T>& values, Metrics T::*own, Metrics T::*hold = nullptr) {
  Json array = Json::array();
  for (const T& value : values) {
    Json object = ToJson(value);
    MetricsJson metrics = ToMetricsJson(value.*own);
    object["metrics"] = std::move(metrics.values);
    object["reasons"] = std::move(metrics.reasons);
    if (hold != nullptr) {
      MetricsJson of_hold = ToMetricsJson(value.*hold);
      object["buy_and_hold"] = std::move(of_hold.values);
      object["buy_and_hold_reasons"] = std::move(of_hold.reasons);
    }
    array.push_back(std::move(object));
  }
  return array;
}

template <typename T>
absl::Status ManyFromJson(const Json& top, const char* key, std::vector<T>& values, Metrics T::*own,
                          Metrics T::*hold = nullptr) {
  for (const Json& object : top.at(key)) {
    Fields fields = Fields::Reading(object);
    T& value = values.emplace_back();
    Visit(fields, value);
    if (!fields.fault().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(key, ": ", fields.fault()));
    }
    VIXEN_RETURN_IF_ERROR(ReadMetrics(key, object.at("metrics"), object.at("reasons"), value.*own));
    if (hold == nullptr) continue;
    VIXEN_RETURN_IF_ERROR(ReadMetrics(key, object.at("buy_and_hold"),
                                      object.at("buy_and_hold_reasons"), value.*hold));
  }
  return absl::OkStatus();
}

Json BootstrapToJson(const Bootstrap& bootstrap) {
  Json object = ToJson(bootstrap);
  object["method"] = "stationary bootstrap, percentile intervals";
  object["policy"] = IntervalsToJson(bootstrap.policy);
  object["buy_and_hold"] = IntervalsToJson(bootstrap.buy_and_hold);
  object["difference"] = IntervalsToJson(bootstrap.difference);
  return object;
}

absl::Status BootstrapFromJson(const Json& top, Bootstrap& bootstrap) {
  VIXEN_RETURN_IF_ERROR(FromJson(top, "intervals", bootstrap));
  const Json& object = top.at("intervals");
  IntervalsFromJson(object.at("policy"), bootstrap.policy);
  IntervalsFromJson(object.at("buy_and_hold"), bootstrap.buy_and_hold);
  IntervalsFromJson(object.at("difference"), bootstrap.difference);
  return absl::OkStatus();
}

template <size_t kSize>
Json OutcomesToJson(const std::array<Outcome, kSize>& outcomes,
                    const std::array<const char*, kSize>& names) {
  Json object = Json::object();
  for (size_t i = 0; i < kSize; ++i) object[names[i]] = ToJson(outcomes[i]);
  return object;
}

template <size_t kSize>
absl::Status OutcomesFromJson(const Json& top, const char* key,
                              const std::array<const char*, kSize>& names,
                              std::array<Outcome, kSize>& outcomes) {
  const Json& object = top.at(key);
  for (size_t i = 0; i < kSize; ++i) {
    VIXEN_RETURN_IF_ERROR(FromJson(object, names[i], outcomes[i]));
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
  VIXEN_RETURN_IF_ERROR(FromJson(top, "rolling_sharpe", evaluation.rolling));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "return_bins", evaluation.return_bins));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "trade_bins", evaluation.trade_bins));
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
  VIXEN_RETURN_IF_ERROR(ReadMetrics("moving_average", top, evaluation.moving_average));
  VIXEN_RETURN_IF_ERROR(ReadMetrics("random", top, evaluation.random));
  VIXEN_RETURN_IF_ERROR(FromJson(top, "moving_average_rule", evaluation.moving_average_rule));
  VIXEN_RETURN_IF_ERROR(BootstrapFromJson(top, evaluation.bootstrap));
  VIXEN_RETURN_IF_ERROR(
      ManyFromJson(top, "cost_sensitivity", evaluation.cost_scales, &CostScale::metrics));
  VIXEN_RETURN_IF_ERROR(ManyFromJson(top, "seeds", evaluation.seeds, &EvaluationSeed::metrics));
  VIXEN_RETURN_IF_ERROR(ManyFromJson(top, "folds", evaluation.folds, &EvaluationFold::policy,
                                     &EvaluationFold::buy_and_hold));
  VIXEN_RETURN_IF_ERROR(
      OutcomesFromJson(top, "by_exposure", ExposureNames(), evaluation.by_exposure));
  VIXEN_RETURN_IF_ERROR(OutcomesFromJson(top, "by_barrier", BarrierNames(), evaluation.by_barrier));
  return CheckEvaluation(evaluation);
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
  WriteMetrics("moving_average", evaluation.moving_average, top);
  WriteMetrics("random", evaluation.random, top);
  top["moving_average_rule"] = ToJson(evaluation.moving_average_rule);
  top["intervals"] = BootstrapToJson(evaluation.bootstrap);
  top["cost_sensitivity"] = ManyToJson(evaluation.cost_scales, &CostScale::metrics);
  top["seeds"] = ManyToJson(evaluation.seeds, &EvaluationSeed::metrics);
  top["seed_summary"] = SpreadsOf(evaluation.seeds, &EvaluationSeed::metrics);
  top["folds"] =
      ManyToJson(evaluation.folds, &EvaluationFold::policy, &EvaluationFold::buy_and_hold);
  top["fold_summary"] = SpreadsOf(evaluation.folds, &EvaluationFold::policy);
  top["by_exposure"] = OutcomesToJson(evaluation.by_exposure, ExposureNames());
  top["by_barrier"] = OutcomesToJson(evaluation.by_barrier, BarrierNames());
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
  top["rolling_sharpe"] = ToJson(evaluation.rolling);
  top["return_bins"] = ToJson(evaluation.return_bins);
  top["trade_bins"] = ToJson(evaluation.trade_bins);
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

}  // namespace vixen::tool
