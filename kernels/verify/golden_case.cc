// SPDX-License-Identifier: Apache-2.0
#include "kernels/verify/golden_case.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::kernels {
namespace {

// The settings in a case's metadata, each a JSON value. The first error stays.
class SettingsReader {
 public:
  explicit SettingsReader(const base::TensorFile& file) : file_(file) {}

  const absl::Status& status() const { return status_; }

  template <typename T>
  void Number(const char* key, T& to) {
    const nlohmann::json value = Value(key);
    if (value.is_null()) return;
    if (!value.is_number()) return Refuse(key, "a number");
    const double number = value.get<double>();
    if constexpr (std::is_integral_v<T>) {
      if (number < static_cast<double>(std::numeric_limits<T>::min()) ||
          number > static_cast<double>(std::numeric_limits<T>::max()) ||
          number != std::floor(number)) {
        return Refuse(key, "a whole number in range");
      }
    }
    to = static_cast<T>(number);
  }

  void Switch(const char* key, bool& to) {
    const nlohmann::json value = Value(key);
    if (value.is_null()) return;
    if (!value.is_boolean()) return Refuse(key, "true or false");
    to = value.get<bool>();
  }

  template <typename Enum>
  void Word(const char* key, std::initializer_list<std::pair<const char*, Enum>> words, Enum& to) {
    const nlohmann::json value = Value(key);
    if (value.is_null()) return;
    for (const auto& [word, meaning] : words) {
      if (value == word) {
        to = meaning;
        return;
      }
    }
    Refuse(key, "one of the setting's words");
  }

  void Floats(const char* key, std::span<float> to) {
    const nlohmann::json value = Value(key);
    if (value.is_null()) return;
    if (!IsNumberList(value) || value.size() != to.size()) return Refuse(key, "a list of numbers");
    for (size_t i = 0; i < to.size(); ++i) to[i] = value[i].get<float>();
  }

  // An empty list stands for all actions.
  void Actions(EnvSettings& settings) {
    const nlohmann::json value = Value("actions");
    if (value.is_null()) return;
    if (!IsNumberList(value) || value.size() > kActions)
      return Refuse("actions", "a list of actions");
    if (value.empty()) return;
    settings.action_count = static_cast<uint8_t>(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      const double action = value[i].get<double>();
      if (!(action >= 0 && action < kActions)) return Refuse("actions", "a list of actions");
      settings.actions[i] = static_cast<uint8_t>(action);
    }
  }

 private:
  static bool IsNumberList(const nlohmann::json& value) {
    if (!value.is_array()) return false;
    for (const nlohmann::json& item : value) {
      if (!item.is_number()) return false;
    }
    return true;
  }

  // null when the key is absent.
  nlohmann::json Value(const char* key) {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) return nullptr;
    nlohmann::json value = nlohmann::json::parse(found->second, nullptr, false);
    if (value.is_discarded() || value.is_null()) {
      Refuse(key, "JSON");
      return nullptr;
    }
    return value;
  }

  void Refuse(const char* key, const char* expected) {
    if (!status_.ok()) return;
    status_ =
        absl::InvalidArgumentError(base::StrCat(file_.source(), ": metadata ", key, " = ",
                                                file_.metadata().at(key), ", expected ", expected));
  }

  const base::TensorFile& file_;
  absl::Status status_;
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

absl::Status ReadSettings(GoldenCase& golden, Range& range) {
  SettingsReader reader(golden.file);
  EnvSettings& s = golden.options.settings;
  reader.Number("initial_capital", s.initial_capital);
  reader.Number("reserve", s.reserve);
  reader.Number("spread", s.spread);
  reader.Floats("cost_bps", s.cost_bps);
  reader.Floats("fill", s.fill);
  reader.Number("rebalance_band", s.rebalance_band);
  reader.Number("borrow_bps", s.borrow_bps);
  reader.Number("profit_target_bps", s.profit_target_bps);
  reader.Number("stop_loss_bps", s.stop_loss_bps);
  reader.Number("max_holding_bars", s.max_holding_bars);
  reader.Number("min_equity", s.min_equity);
  reader.Number("max_episode_steps", s.max_episode_steps);
  reader.Number("gamma", s.gamma);
  reader.Number("pnl_scale", s.pnl_scale);
  reader.Number("barrier_bonus", s.barrier_bonus);
  reader.Number("risk_threshold", s.risk_threshold);
  reader.Number("risk_scale", s.risk_scale);
  reader.Number("diversity_min_entropy", s.diversity_min_entropy);
  reader.Number("diversity_penalty", s.diversity_penalty);
  reader.Number("curiosity_max", s.curiosity_max);
  reader.Word<OnBarrier>("on_barrier",
                         {{"terminate", OnBarrier::kTerminate}, {"relabel", OnBarrier::kRelabel}},
                         s.on_barrier);
  reader.Word<BarrierShaping>(
      "barrier_shaping",
      {{"product", BarrierShaping::kProduct}, {"aligned", BarrierShaping::kAligned}},
      s.barrier_shaping);
  reader.Switch("recycle", s.recycle);
  reader.Switch("carry_over", s.carry_over);
  reader.Switch("double_dqn", s.double_dqn);
  reader.Actions(s);
  reader.Number("epsilon", golden.epsilon);
  reader.Number("margin", golden.margin);
  reader.Number("steps", golden.options.steps);
  reader.Number("begin", range.begin);
  reader.Number("end", range.end);
  return reader.status();
}

absl::Status ReadMarket(GoldenCase& golden, Range range) {
  const base::TensorFile& file = golden.file;
  const int64_t features = golden.options.architecture.features;
  VIXEN_ASSIGN_OR_RETURN(const auto last, file.Get<uint8_t>("last", {-1}));
  const auto bars = static_cast<int64_t>(last.size());
  VIXEN_ASSIGN_OR_RETURN(const auto rows, file.Get<float>("features", {bars, features}));
  VIXEN_ASSIGN_OR_RETURN(const auto targets, file.Get<float>("targets", {bars, 4}));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!std::isfinite(rows[i])) {
      return absl::InvalidArgumentError(base::StrCat(file.source(), ": features row ", i / features,
                                                     ", column ", i % features, " = ", rows[i]));
    }
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!std::isfinite(targets[i]) || targets[i] <= 0.0f) {
      return absl::InvalidArgumentError(base::StrCat(file.source(), ": targets row ", i / 4,
                                                     ", column ", i % 4, " = ", targets[i]));
    }
  }
  if (range.end == 0) range.end = last.size();
  if (range.end > last.size() || range.begin >= range.end) {
    return absl::InvalidArgumentError(base::StrCat(file.source(), ": begin = ", range.begin,
                                                   ", end = ", range.end, " of ", bars, " bars"));
  }
  while (range.begin < range.end && last[range.begin] != 0) range.begin += 1;
  while (range.end >= range.begin + 2 && last[range.end - 2] != 0) range.end -= 1;
  golden.options.market = {rows.data(),
                           targets.data(),
                           last.data(),
                           static_cast<uint32_t>(last.size()),
                           static_cast<uint32_t>(features),
                           static_cast<uint32_t>(range.begin),
                           static_cast<uint32_t>(range.end)};
  return absl::OkStatus();
}

absl::Status ReadWeights(GoldenCase& golden) {
  const base::TensorFile& file = golden.file;
  VIXEN_ASSIGN_OR_RETURN(golden.options.architecture, ArchitectureOf(file, "online."));
  const Architecture& architecture = golden.options.architecture;
  VIXEN_ASSIGN_OR_RETURN(golden.online,
                         ReadParameters(file, "online.", architecture, WeightsKind::kOnline));
  VIXEN_ASSIGN_OR_RETURN(golden.target,
                         ReadParameters(file, "target.", architecture, WeightsKind::kTarget));
  if (golden.options.settings.curiosity_max > 0.0f) {
    VIXEN_ASSIGN_OR_RETURN(golden.curiosity, ReadParameters(file, "curiosity.", architecture,
                                                            WeightsKind::kCuriosity));
  }
  return absl::OkStatus();
}

absl::Status ReadStarts(GoldenCase& golden) {
  const base::TensorFile& file = golden.file;
  VIXEN_ASSIGN_OR_RETURN(const auto starts, file.Get<int32_t>("starts", {-1}));
  const auto slots = static_cast<int64_t>(starts.size());
  VIXEN_ASSIGN_OR_RETURN(golden.rng, file.Get<uint32_t>("rng", {slots}));
  for (size_t n = 0; n < starts.size(); ++n) {
    if (starts[n] < 0) {
      return absl::InvalidArgumentError(
          base::StrCat(file.source(), ": starts[", n, "] = ", starts[n], " is below 0"));
    }
    golden.starts.push_back(static_cast<uint32_t>(starts[n]));
  }
  golden.options.episodes = static_cast<uint32_t>(slots);
  return absl::OkStatus();
}

absl::Status ReadExpected(GoldenCase& golden) {
  const base::TensorFile& file = golden.file;
  const int64_t slots = golden.options.episodes;
  const int64_t steps = golden.options.steps;
  VIXEN_ASSIGN_OR_RETURN(golden.bar, file.Get<int32_t>("out.bar", {slots, -1}));
  const int64_t columns = slots > 0 ? static_cast<int64_t>(golden.bar.size()) / slots : 0;
  if (steps < 1 || columns < 1 || columns % steps != 0 ||
      (columns != steps && !golden.options.settings.carry_over)) {
    return absl::InvalidArgumentError(base::StrCat(
        file.source(), ": out.bar has ", columns, " steps a slot for launches of steps = ", steps));
  }
  golden.launches = static_cast<uint32_t>(columns / steps);
  VIXEN_ASSIGN_OR_RETURN(golden.action, file.Get<int32_t>("out.action", {slots, columns}));
  VIXEN_ASSIGN_OR_RETURN(golden.flags, file.Get<uint8_t>("out.flags", {slots, columns}));
  VIXEN_ASSIGN_OR_RETURN(golden.reward, file.Get<float>("out.reward", {slots, columns}));
  VIXEN_ASSIGN_OR_RETURN(golden.td, file.Get<float>("out.td", {slots, columns}));
  VIXEN_ASSIGN_OR_RETURN(golden.portfolio,
                         file.Get<float>("out.portfolio", {slots, columns, kPortfolioFeatures}));
  VIXEN_ASSIGN_OR_RETURN(
      golden.next_portfolio,
      file.Get<float>("out.next_portfolio", {slots, columns, kPortfolioFeatures}));
  if (file.Find("out.q") != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(golden.q, file.Get<float>("out.q", {slots, columns, kActions}));
  }
  if (file.Find("out.terms") != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(golden.terms,
                           file.Get<float>("out.terms", {slots, columns, kRewardTerms}));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsGoldenCase(const base::TensorFile& file) {
  const auto found = file.metadata().find("case");
  return found != file.metadata().end() && found->second != "features";
}

absl::StatusOr<GoldenCase> ReadGoldenCase(base::TensorFile file) {
  if (!IsGoldenCase(file)) {
    return absl::InvalidArgumentError(
        base::StrCat(file.source(), ": no environment case (metadata `case`)"));
  }
  GoldenCase golden{std::move(file)};
  golden.name = golden.file.metadata().at("case");
  Range range;
  VIXEN_RETURN_IF_ERROR(ReadSettings(golden, range));
  VIXEN_RETURN_IF_ERROR(ReadWeights(golden));
  VIXEN_RETURN_IF_ERROR(ReadMarket(golden, range));
  VIXEN_RETURN_IF_ERROR(ReadStarts(golden));
  VIXEN_RETURN_IF_ERROR(ReadExpected(golden));
  if (absl::Status status = CheckOptions(golden.options); !status.ok()) {
    return absl::Status(status.code(),
                        base::StrCat(golden.file.source(), ": ", base::ToStd(status.message())));
  }
  return golden;
}

}  // namespace vixen::kernels
