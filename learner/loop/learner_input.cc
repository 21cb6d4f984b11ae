// SPDX-License-Identifier: Apache-2.0
// What comes in: events of the actors' threads, or recorded batches; rows into the replay; credit.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/batch/columns.h"
#include "learner/loop/learner.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

constexpr std::chrono::milliseconds kIdle{50};
// Once or twice may be a learner that went on elsewhere.
constexpr uint64_t kOvertakenToWarn = 10;

template <typename T>
const T* Column(const kernels::Batch& batch, kernels::ColumnId id) {
  return reinterpret_cast<const T*>(batch.Column(id).data());
}

// Seconds since the launch was complete; the clocks are those of two machines.
double AgeOf(const v1::BatchHeader& header) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(0.0, now.count() - 1e-9 * static_cast<double>(header.completed_unix_ns()));
}

LaunchRows RowsOf(const kernels::Batch& batch) {
  using kernels::ColumnId;
  return {.episodes = batch.episodes(),
          .steps = batch.steps(),
          .bar = Column<uint32_t>(batch, ColumnId::kBar),
          .action = Column<uint8_t>(batch, ColumnId::kAction),
          .flags = Column<uint8_t>(batch, ColumnId::kFlags),
          .portfolio = Column<float>(batch, ColumnId::kPortfolio),
          .next_portfolio = Column<float>(batch, ColumnId::kNextPortfolio),
          .reward = Column<float>(batch, ColumnId::kReward),
          .td = Column<float>(batch, ColumnId::kTd)};
}

}  // namespace

absl::Status Learner::TakeEvent(bool may_sample) {
  std::optional<Event> event;
  if (may_sample) {
    event = events_.PopFor(std::chrono::nanoseconds(0));
  } else {
    const Spending spending(metrics_, Activity::kWaitingData);
    event = events_.PopFor(kIdle);
  }
  return event.has_value() ? Handle(*event) : absl::OkStatus();
}

absl::Status Learner::PassOverHeld(const StopFlag& stop) {
  if (book_.Sheets().empty()) return absl::OkStatus();  // begins anew: nothing is read twice
  while (!stored_->AtEnd() && !stop.stopped()) {
    metrics_.health().Beat();
    VIXEN_ASSIGN_OR_RETURN(const codec::RecordedBatch next, stored_->Next());
    if (book_.Holds(next.header.run_id(), next.header.sequence())) continue;
    stored_->GoBack();
    break;
  }
  return absl::OkStatus();
}

absl::Status Learner::TakeStored(const StopFlag& stop) {
  RunInput& input = inputs_.front();
  if (!passed_over_held_) {
    VIXEN_RETURN_IF_ERROR(PassOverHeld(stop));
    passed_over_held_ = true;
  }
  if (stored_->AtEnd()) {
    if (OpenWindows() > 0) VIXEN_RETURN_IF_ERROR(BeginRun(input, input.run_id));
    if (limiter_.inserts() >= plan_.config.limiter().min_size()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("offline: the batches hold ", limiter_.inserts(), " rows, min_size is ",
                     plan_.config.limiter().min_size(), "; give more batches or lower min_size"));
  }
  if (limiter_.LaunchesAllowed(OpenWindows()) < 1 || AllInserted()) return absl::OkStatus();
  std::string file;
  std::optional<codec::RecordedBatch> recorded;
  while (!recorded.has_value() && !stored_->AtEnd() && !stop.stopped()) {
    metrics_.health().Beat();
    file = stored_->next_file();
    VIXEN_ASSIGN_OR_RETURN(recorded, stored_->Next());
    if (book_.Holds(recorded->header.run_id(), recorded->header.sequence())) recorded.reset();
  }
  if (!recorded.has_value()) return absl::OkStatus();
  const v1::BatchHeader& header = recorded->header;
  const absl::Status same = CheckSameWork(plan_, StoredBatches::InfoOf(*recorded, plan_.bars));
  if (!same.ok()) return absl::Status(same.code(), absl::StrCat(file, ": ", same.message()));
  if (input.builder == nullptr || input.run_id != header.run_id()) {
    VIXEN_RETURN_IF_ERROR(BeginRun(input, header.run_id()));
    book_.RunOpened(input.actor, header.run_id());
  }
  book_.Receive(header.run_id(), header.sequence(), recorded->batch.statistics.valid_rows);
  metrics_.batches.Increment();
  return Insert(input, header, recorded->batch);
}

absl::Status Learner::Handle(Event& event) {
  if (auto* opened = std::get_if<StreamOpened>(&event)) {
    return HandleOpened(*opened);
  }
  if (auto* arrived = std::get_if<BatchArrived>(&event)) return HandleBatch(*arrived);
  if (const auto* ended = std::get_if<StreamEnded>(&event)) {
    HandleEnded(*ended);
  } else if (const auto* live = std::get_if<WeightsLive>(&event)) {
    ActorState& actor = actors_->at(live->actor);
    actor.ready = actor.stream != 0 && live->online_version >= actor.required_version;
    metrics_.weights_live_time.SetToCurrentTime();
  } else if (const auto* behind = std::get_if<WeightsBehind>(&event)) {
    RaiseVersions(behind->live);
    ActorState& actor = actors_->at(behind->actor);
    if (actor.stream != 0 && ++actor.overtaken % kOvertakenToWarn == 0) {
      spdlog::warn(
          "actor {}: somebody else pushes weights of policy {} too, and what is live there is by "
          "turns theirs and ours; give each learner a policy of its own, or start them as ranks of "
          "one (RANK, WORLD_SIZE)",
          actor.address, plan_.config.policy());
    }
    return PushAll(actor);
  } else if (const auto* failed = std::get_if<ClientFailed>(&event)) {
    return failed->status;
  }
  return absl::OkStatus();
}

absl::Status Learner::HandleOpened(StreamOpened& opened) {
  ActorState& actor = actors_->at(opened.actor);
  const uint64_t run_id = opened.opened.run_id();
  RunInput& input = inputs_[opened.actor];
  if (input.builder == nullptr || input.run_id != run_id) {
    if (input.builder != nullptr) {
      spdlog::info("actor {}: run {:016x} ended, run {:016x} began", actor.address, input.run_id,
                   run_id);
    }
    VIXEN_RETURN_IF_ERROR(BeginRun(input, run_id));
  }
  actor.stream = opened.stream;
  actor.max_credit = std::max<int64_t>(1, opened.opened.max_credit());
  actor.outstanding = 0;
  actor.overtaken = 0;
  actor.ready = false;
  unsaved_ = true;
  const v1::Amount& lost = opened.opened.lost_with_consumer();
  book_.RunOpened(actor.address, run_id, lost);
  if (lost.batches() > 0) {
    spdlog::warn(
        "actor {}: run {:016x}: {} batches, {} rows that earlier processes of consumer {} had "
        "acknowledged are in no checkpoint: lost",
        actor.address, run_id, lost.batches(), lost.rows(), plan_.config.consumer());
  }
  spdlog::info("actor {}: stream open, run {:016x}, {} on {}", actor.address, run_id,
               opened.info.executor(), opened.info.device());
  if (!leads()) {
    actor.ready = true;  // rank 0 pushes; without weights the actor waits
    return absl::OkStatus();
  }
  for (const v1::PolicyInfo& policy : opened.info.policies()) {
    if (policy.policy() == plan_.config.policy()) RaiseVersions(policy);
  }
  return PushAll(actor);
}

void Learner::HandleEnded(const StreamEnded& ended) {
  ActorState& actor = actors_->at(ended.actor);
  if (actor.stream != ended.stream) return;
  actor.stream = 0;
  actor.outstanding = 0;
  actor.ready = false;
}

absl::Status Learner::HandleBatch(BatchArrived& arrived) {
  // A batch that is overtaken by the next one would never be trained on before a push.
  if (batch_since_push_ && plan_.config.push().push_every() == 0) {
    VIXEN_RETURN_IF_ERROR(PushToEveryone());
  }
  ActorState& actor = actors_->at(arrived.actor);
  const v1::BatchHeader& header = arrived.batch.header;
  if (arrived.stream == actor.stream) --actor.outstanding;
  unsaved_ = true;  // also by a batch that only the sheet counts
  metrics_.batches.Increment();

  if (book_.Receive(header.run_id(), header.sequence(),
                    arrived.batch.batch.statistics.valid_rows)) {
    VIXEN_RETURN_IF_ERROR(Insert(inputs_[arrived.actor], header, arrived.batch.batch));
    batch_since_push_ = true;
  }
  actor.link->SendAcknowledge(header.run_id(), header.sequence());
  return absl::OkStatus();
}

absl::Status Learner::BeginRun(RunInput& input, uint64_t run_id) {
  if (input.builder != nullptr) {
    rows_->clear();
    input.builder->Flush(*rows_);
    VIXEN_RETURN_IF_ERROR(InsertRows(version_[0]));
  }
  input.builder = std::make_unique<NStepBuilder>(plan_.n_step());
  input.run_id = run_id;
  return absl::OkStatus();
}

absl::Status Learner::InsertRows(uint64_t version) {
  unsaved_ = true;
  ages_.Inserted(updater_->inserted(), rows_->size(), {version, Clock::now()});
  VIXEN_RETURN_IF_ERROR(updater_->Insert(*rows_));
  ages_.Forget(updater_->inserted() - updater_->size());
  for (const ReplayRow& row : *rows_) ++window_.actions[row.action];
  limiter_.Inserted(rows_->size());
  transitions_ += rows_->size();
  metrics_.inserts.Increment(static_cast<double>(rows_->size()));
  return absl::OkStatus();
}

absl::Status Learner::Insert(RunInput& input, const v1::BatchHeader& header,
                             const kernels::Batch& batch) {
  const Spending spending(metrics_, Activity::kInserting);
  const kernels::LaunchStatistics& statistics = batch.statistics;
  metrics_.batch_age.Observe(AgeOf(header));
  rows_->clear();
  const RowRejects rejects = input.builder->Add(header.launch(), RowsOf(batch), *rows_);
  VIXEN_RETURN_IF_ERROR(InsertRows(header.online_version()));
  book_.Inserted(header.run_id(), statistics.valid_rows - rejects.total(),
                 {{"non_finite", rejects.non_finite}, {"out_of_range", rejects.out_of_range}});

  const uint64_t online = version_[static_cast<size_t>(WeightsKind::kOnline)];
  const double staleness =
      online > header.online_version() ? static_cast<double>(online - header.online_version()) : 0;
  metrics_.staleness.Observe(staleness);
  for (LogWindow* window : {&window_, &progress_window_}) {
    window->rows += rows_->size();
    ++window->batches;
    window->staleness += staleness;
    window->launches.Add(statistics);
  }
  return absl::OkStatus();
}

size_t Learner::OpenWindows() const {
  size_t open = 0;
  for (const RunInput& input : inputs_) {
    if (input.builder != nullptr) open += input.builder->pending();
  }
  return open;
}

void Learner::GrantCredit() {
  if (!actors_->any_ready()) return;
  uint64_t allowed = limiter_.LaunchesAllowed(OpenWindows());
  if (const uint64_t most = plan_.config.stop().max_transitions(); most > 0) {
    const uint64_t all = Transitions() >= most ? 0 : most - Transitions();
    const uint64_t left = ranks_ == nullptr ? all : (all + ranks_->size() - 1) / ranks_->size();
    allowed = std::min(allowed, (left + plan_.launch_rows - 1) / plan_.launch_rows);
  }
  const auto outstanding = static_cast<uint64_t>(std::max<int64_t>(0, actors_->outstanding()));
  if (allowed > outstanding) actors_->Grant(static_cast<int64_t>(allowed - outstanding));
}

}  // namespace vixen::learner
