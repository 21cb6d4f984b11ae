// SPDX-License-Identifier: Apache-2.0
// The names of an evaluation file's fields, one description for writing and reading.
#pragma once

#include "tool/eval/evaluation.h"
#include "tool/eval/json_fields.h"

namespace vixen::tool {

inline void Visit(Fields& f, EvaluationIdentity& v) {
  f("software_version", v.software_version);
  f("dataset", v.dataset_path);
  f("dataset_fingerprint", v.dataset_fingerprint);
  f("dataset_source", v.dataset_source);
  f("dataset_bars", v.dataset_bars);
  f("dataset_segments", v.dataset_segments);
  f("train_rows", v.train_rows);
  f("trained_on", v.trained_on);
  f("trained_to", v.trained_to);
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

inline void Visit(Fields& f, Annualisation& v) {
  f("steps_a_year", v.steps_a_year);
  f("how", v.how);
  f("bar_seconds", v.bar_seconds);
  f("years", v.years);
}

inline void Visit(Fields& f, EvaluationPart& v) {
  f("begin", v.begin);
  f("end", v.end);
  f("fold", v.fold);
  f("first_step", v.first_step);
  f("steps", v.steps);
  f("begin_time", v.begin_time);
  f("begin_price", v.begin_price);
  f("capital", v.capital);
  f("ended_by_ruin", v.ended_by_ruin);
}

inline void Visit(Fields& f, Trade& v) {
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

inline void Visit(Fields& f, kernels::LaunchStatistics& v) {
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

inline void Visit(Fields& f, RandomTiming& v) {
  f("shifts", v.shifts);
  f("as_good", v.as_good);
  f("mean_return", v.mean_return);
  f("shifted_mean_return", v.shifted_mean_return);
  f("total_return_quantiles", v.total_return);
  f("median_shift", v.median_shift);
  f("band_step", v.band.step);
  f("band_low", v.band.low);
  f("band_median", v.band.median);
  f("band_high", v.band.high);
}

inline void Visit(Fields& f, Bootstrap& v) {
  f("resamples", v.resamples);
  f("reason", v.reason);
  f("seed", v.seed);
  f("level", v.level);
  f("block_length", v.block_length);
  f("block_length_given", v.block_length_given);
  f("unit", v.unit);
  f("share_of_losses", v.share_of_losses);
  f("share_not_better", v.share_not_better);
}

inline void Visit(Fields& f, MovingAverageRule& v) {
  f("fast", v.fast);
  f("slow", v.slow);
}

inline void Visit(Fields& f, Outcome& v) {
  f("steps", v.steps);
  f("profit", v.profit);
  f("costs", v.costs);
  f("reward", v.reward);
}

inline void Visit(Fields& f, CostScale& v) { f("scale", v.scale); }

inline void Visit(Fields& f, EvaluationSeed& v) { f("seed", v.seed); }

inline void Visit(Fields& f, EvaluationFold& v) {
  f("begin", v.begin);
  f("end", v.end);
  f("begin_time", v.begin_time);
  f("end_time", v.end_time);
  f("first_step", v.first_step);
  f("steps", v.steps);
  f("weights", v.weights);
  f("online_version", v.online_version);
  f("trained_on", v.trained_on);
  f("trained_to", v.trained_to);
}

inline void Visit(Fields& f, RollingSharpe& v) {
  f("window", v.window);
  f.WithGaps("policy", v.policy);
  f.WithGaps("buy_and_hold", v.buy_and_hold);
}

inline void Visit(Fields& f, Bins& v) {
  f("middle", v.middle);
  f("below_zero", v.below_zero);
  f("others", v.others);
}

inline void Visit(Fields& f, EvaluationSeries& v) {
  f("step", v.step);
  f("time", v.time);
  f("close", v.close);
  f("position", v.position);
  f("exposure", v.exposure);
  f("equity", v.equity);
  f("buy_and_hold", v.buy_and_hold);
  f("moving_average", v.moving_average);
}

inline void VisitTop(Fields& f, Evaluation& v) {
  f("begin", v.begin);
  f("end", v.end);
  f("initial_capital", v.initial_capital);
  f("calendar", v.calendar);
  f("risk_free", v.risk_free);
  f("epsilon", v.epsilon);
  f("fold_weights", v.fold_weights);
  f("settings_origin", v.settings_origin);
  f("action_counts", v.action);
  f("reward_equity_correlation", v.reward_equity_correlation);
  f("largest_equity_difference", v.largest_equity_difference);
  f("warnings", v.warnings);
  f("trades_left_out", v.trades_left_out);
}

}  // namespace vixen::tool
