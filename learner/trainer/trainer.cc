// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <array>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "learner/trainer/dueling_network.h"
#include "learner/trainer/flat_optimizer.h"
#include "learner/trainer/host_gradient.h"

namespace vixen::learner {
namespace {

absl::Status TorchError(const std::exception& error) {
  const std::string text = error.what();
  return absl::InternalError(absl::StrCat("LibTorch: ", text.substr(0, text.find('\n'))));
}

absl::Status CheckSize(const kernels::Parameters& parameters,
                       const kernels::Architecture& architecture) {
  const size_t expected = kernels::ParameterCount(architecture, kernels::WeightsKind::kOnline);
  if (parameters.values.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s weights hold %d numbers, architecture %s needs %d",
                      kernels::WeightsKindName(parameters.kind), parameters.values.size(),
                      architecture.Describe(), expected));
}

}  // namespace

struct Trainer::State {
  explicit State(const TrainerOptions& o)
      : options(o),
        device(o.device),
        batch(o.batch_size, o.architecture.state()),
        online(o.architecture, o.actions, device),
        target(o.architecture, o.actions, device),
        optimizer({.learning_rate = o.learning_rate,
                   .epsilon = o.adam_epsilon,
                   .weight_decay = o.weight_decay,
                   .max_gradient_norm = o.max_gradient_norm},
                  online.parameter_count(), device),
        online_rows(o.double_dqn ? 2 * int64_t{o.batch_size} : int64_t{o.batch_size}),
        column(o.batch_size),
        abs_td(o.batch_size),
        taken_q(o.batch_size) {
    if (device.is_cpu()) {
      host.emplace(HostGradientOptions{.architecture = o.architecture,
                                       .actions = o.actions,
                                       .batch_size = o.batch_size,
                                       .huber_delta = o.huber_delta,
                                       .double_dqn = o.double_dqn,
                                       .threads = at::get_num_threads()});
    } else {
      online_pass.emplace(o.architecture, online_rows, ActionCount(), device);
      target_pass.emplace(o.architecture, o.batch_size, ActionCount(), device);
      q_gradient.resize(size_t{o.batch_size} * o.actions.size());
      states_host =
          at::from_blob(batch.states.data(), {2 * int64_t{o.batch_size}, batch.state}, at::kFloat);
      q_gradient_host =
          at::from_blob(q_gradient.data(), {int64_t{o.batch_size}, ActionCount()}, at::kFloat);
    }
    column_of.fill(0);
    for (size_t i = 0; i < o.actions.size(); ++i)
      column_of[o.actions[i]] = static_cast<uint32_t>(i);
  }

  int64_t ActionCount() const { return static_cast<int64_t>(options.actions.size()); }

  // Averages gradient and statistics over the ranks.
  absl::Status Share(UpdateStatistics& statistics);
  // Fills the optimiser's gradient, which is undefined where the loss is not finite.
  UpdateStatistics LossAndGradient();
  UpdateStatistics Loss(const at::Tensor& online_q, const at::Tensor& target_q);
  void SyncTarget();
  void FoldHead(DuelingNetwork& network) const {
    if (!host.has_value()) network.FoldHead();
  }

  const TrainerOptions options;
  const at::Device device;
  Minibatch batch;
  DuelingNetwork online, target;
  FlatOptimizer optimizer;
  const int64_t online_rows;
  std::optional<HostGradient> host;  // on the CPU; else what follows
  std::optional<DuelingActivations> online_pass, target_pass;
  std::vector<float> q_gradient;  // [B, n]
  std::vector<uint32_t> column;   // [B] of the taken action among the allowed
  std::vector<float> abs_td, taken_q;
  std::array<uint32_t, kernels::kActions> column_of;
  at::Tensor states_host, q_gradient_host;  // views of the vectors
  uint64_t updates = 0;
};

// The loss stage is B·n numbers: on the host it costs less than its dozen tensor operations.
UpdateStatistics Trainer::State::Loss(const at::Tensor& online_q, const at::Tensor& target_q) {
  const uint32_t rows = options.batch_size;
  const size_t n = options.actions.size();
  const float* q = online_q.data_ptr<float>();
  const float* next = target_q.data_ptr<float>();
  return ComputeTdLoss({.rows = rows,
                        .actions = static_cast<uint32_t>(n),
                        .q = {q, rows * n},
                        .choose = {options.double_dqn ? q + rows * n : next, rows * n},
                        .next = {next, rows * n},
                        .action = column,
                        .reward = batch.reward,
                        .discount = batch.discount,
                        .weight = batch.weight,
                        .huber_delta = options.huber_delta},
                       q_gradient, abs_td, taken_q);
}

UpdateStatistics Trainer::State::LossAndGradient() {
  for (uint32_t i = 0; i < options.batch_size; ++i) column[i] = column_of[batch.action[i]];
  if (host.has_value()) {
    return host->Compute(online.parameters().data_ptr<float>(),
                         target.parameters().data_ptr<float>(), batch, column,
                         optimizer.gradient().data_ptr<float>(), abs_td, taken_q);
  }
  const int64_t rows = options.batch_size;
  const at::Tensor states = states_host.to(device);
  online.Forward(states.narrow(0, 0, online_rows), *online_pass);
  target.Forward(states.narrow(0, rows, rows), *target_pass);
  const UpdateStatistics statistics =
      Loss(online_pass->q.to(at::kCPU), target_pass->q.to(at::kCPU));
  if (std::isfinite(statistics.loss)) {
    online.Backward(states, *online_pass, q_gradient_host.to(device), optimizer.gradient());
  }
  return statistics;
}

absl::Status Trainer::State::Share(UpdateStatistics& statistics) {
  const bool finite = std::isfinite(statistics.loss);
  std::array<float, 4> figures = {finite ? 0.0f : 1.0f, static_cast<float>(statistics.loss),
                                  static_cast<float>(statistics.mean_abs_td),
                                  static_cast<float>(statistics.mean_q)};
  if (!finite) {
    optimizer.gradient().zero_();
    std::fill(figures.begin() + 1, figures.end(), 0.0f);
  }
  VIXEN_RETURN_IF_ERROR(optimizer.Average(*options.ranks, figures));
  if (figures[0] > 0) {
    return absl::DataLossError(absl::StrFormat(
        "%s loss at update %d is not finite; the last good weights stay",
        finite ? "another rank's" : absl::StrCat("this rank's, ", statistics.loss, ":"),
        updates + 1));
  }
  statistics.loss = figures[1];
  statistics.mean_abs_td = figures[2];
  statistics.mean_q = figures[3];
  return absl::OkStatus();
}

void Trainer::State::SyncTarget() {
  if (options.frozen_target) return;
  if (options.target_period == 0) {
    target.parameters().lerp_(online.parameters(), options.polyak_tau);
  } else if (updates % options.target_period == 0) {
    target.parameters().copy_(online.parameters());
  } else {
    return;
  }
  FoldHead(target);
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::~Trainer() = default;

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const TrainerOptions& options,
                                                         const kernels::Parameters& online,
                                                         const kernels::Parameters& target) {
  for (const kernels::Parameters* parameters : {&online, &target}) {
    VIXEN_RETURN_IF_ERROR(CheckSize(*parameters, options.architecture));
  }
  try {
    at::NoGradGuard no_grad;
    auto state = std::make_unique<State>(options);
    state->online.Import(online);
    state->target.Import(target);
    return std::unique_ptr<Trainer>(new Trainer(std::move(state)));
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

Minibatch& Trainer::minibatch() { return state_->batch; }
std::span<const float> Trainer::abs_td() const { return state_->abs_td; }
std::span<const float> Trainer::taken_q() const { return state_->taken_q; }
uint64_t Trainer::updates() const { return state_->updates; }

absl::StatusOr<UpdateStatistics> Trainer::Update() {
  State& s = *state_;
  try {
    at::NoGradGuard no_grad;
    UpdateStatistics statistics = s.LossAndGradient();
    if (!std::isfinite(statistics.loss) && s.options.ranks == nullptr) {
      return absl::DataLossError(
          absl::StrFormat("loss %g at update %d is not finite; the last good weights stay",
                          statistics.loss, s.updates + 1));
    }
    if (s.options.ranks != nullptr) VIXEN_RETURN_IF_ERROR(s.Share(statistics));
    if (s.options.ascent) s.optimizer.gradient().neg_();
    statistics.gradient_norm = s.optimizer.Step(s.online.parameters());
    if (!std::isfinite(statistics.gradient_norm)) {
      return absl::DataLossError(
          absl::StrFormat("gradient norm %g at update %d is not finite; the last good weights stay",
                          statistics.gradient_norm, s.updates + 1));
    }
    s.FoldHead(s.online);
    ++s.updates;
    s.SyncTarget();
    return statistics;
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

TrainerCut Trainer::Save() const {
  State& s = *state_;
  const auto moment = [&](const at::Tensor& flat) {
    return s.online.Unflatten(flat, kernels::WeightsKind::kOnline);
  };
  return {.online = s.online.Export(kernels::WeightsKind::kOnline),
          .target = s.target.Export(kernels::WeightsKind::kTarget),
          .optimizer = {.first = moment(s.optimizer.first_moment()),
                        .second = moment(s.optimizer.second_moment()),
                        .steps = s.optimizer.steps().item<float>()},
          .updates = s.updates};
}

absl::Status Trainer::Restore(const TrainerCut& cut) {
  State& s = *state_;
  for (const kernels::Parameters* part :
       {&cut.online, &cut.target, &cut.optimizer.first, &cut.optimizer.second}) {
    VIXEN_RETURN_IF_ERROR(CheckSize(*part, s.options.architecture));
  }
  try {
    at::NoGradGuard no_grad;
    s.online.Import(cut.online);
    s.target.Import(cut.target);
    s.optimizer.first_moment().copy_(s.online.Flatten(cut.optimizer.first));
    s.optimizer.second_moment().copy_(s.online.Flatten(cut.optimizer.second));
    s.optimizer.steps().fill_(cut.optimizer.steps);
    s.updates = cut.updates;
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

kernels::Parameters Trainer::Export(kernels::WeightsKind kind) const {
  return kind == kernels::WeightsKind::kTarget ? state_->target.Export(kind)
                                               : state_->online.Export(kind);
}

}  // namespace vixen::learner
