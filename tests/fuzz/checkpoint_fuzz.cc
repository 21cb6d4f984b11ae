// SPDX-License-Identifier: Apache-2.0
// A checkpoint whose checksums are right, whatever is in it. First byte: whether its networks are
// those of an honest learner (1: only head, replay and windows come from the input) and the head's
// architecture theirs (unless 4), whether the head is text as on disk (2) or the same message in
// binary, which mutates better. What is accepted must be fit to go on from.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "learner/checkpoint/checkpoint_files.h"
#include "learner/checkpoint/cut_check.h"
#include "learner/client/run_book.h"
#include "learner/replay/n_step.h"
#include "learner/replay/replay.h"
#include "proto/codec/convert.h"
#include "tests/fuzz/checkpoint_input.h"
#include "tests/fuzz/messages.h"

namespace vixen {
namespace {

constexpr uint64_t kBars = 1000;
constexpr uint64_t kMostCapacity = 64;

void Check(bool holds) {
  if (!holds) std::abort();
}

std::optional<v1::Checkpoint> HeadOf(const std::string& bytes, bool text) {
  v1::Checkpoint head;
  const bool read = text ? google::protobuf::TextFormat::ParseFromString(bytes, &head)
                         : head.ParseFromString(bytes);
  return read ? std::optional(std::move(head)) : std::nullopt;
}

absl::StatusOr<base::TensorFile> FileOf(const std::string& bytes, const char* name) {
  return base::TensorFile::Parse(std::as_bytes(std::span<const char>(bytes)), name);
}

void GoOn(const learner::LearnerCut& cut) {
  learner::ReplayOptions options;
  options.capacity = std::clamp<uint64_t>(cut.head.replay().capacity(), 1, kMostCapacity);
  learner::Replay replay(options);
  if (replay.Restore(cut.replay).ok() && replay.size() > 0) {
    learner::Sample sample;
    replay.Draw(8, 0.5, sample);
    for (const uint32_t slot : sample.slot) {
      Check(slot < replay.size());
      Check(replay.row(slot).bar + 1 < kBars && replay.row(slot).bootstrap_bar < kBars);
    }
  }
  learner::RunBook book("p", "g");
  book.Restore({cut.head.runs().begin(), cut.head.runs().end()});
  for (const v1::CheckpointRun& run : cut.head.runs()) {
    Check(book.Held(run.sheet().run_id()).ranges_size() == run.sequences_size());
    if (run.slots() == 0 || run.slots() > kMostCapacity) continue;
    learner::WindowsCut windows{.next_launch = run.next_launch(), .slots = run.slots()};
    for (size_t i = 0; i < cut.window_run.size(); ++i) {
      windows.slot.push_back(cut.window_slot[i]);
      windows.rows.push_back(cut.window_rows.Row(i));
    }
    learner::NStepBuilder builder({.n = 3, .bars = kBars});
    if (!builder.Restore(windows).ok()) continue;
    learner::RowList rows;
    builder.Flush(rows);
    Check(rows.size() == windows.rows.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::HonestNetworks kHonest;
  if (size < 1) return 0;
  const bool honest_networks = (data[0] & 1) != 0;
  fuzz::Messages messages({data + 1, size - 1});
  std::optional<v1::Checkpoint> head = HeadOf(messages.Next().value_or(""), (data[0] & 2) != 0);
  if (!head) return 0;
  const std::string replay_bytes = messages.Next().value_or("");
  const std::string window_bytes = messages.Next().value_or("");
  const auto replay = FileOf(replay_bytes, "replay");
  const auto windows = FileOf(window_bytes, "windows");
  if (!replay.ok() || !windows.ok()) return 0;
  absl::StatusOr<learner::LearnerCut> cut = absl::UnknownError("");
  if (honest_networks) {
    if ((data[0] & 4) == 0) {
      *head->mutable_architecture() = codec::ToProto(fuzz::HonestNetworks::Architecture());
    }
    cut = learner::AssembleCut(*std::move(head),
                               {kHonest.weights(), kHonest.optimizer(), *replay, *windows});
  } else {
    const std::string weight_bytes = messages.Next().value_or("");
    const std::string optimizer_bytes = messages.Next().value_or("");
    const auto weights = FileOf(weight_bytes, "weights");
    const auto optimizer = FileOf(optimizer_bytes, "optimizer");
    if (!weights.ok() || !optimizer.ok()) return 0;
    cut = learner::AssembleCut(*std::move(head), {*weights, *optimizer, *replay, *windows});
  }
  Check(cut.ok() || absl::IsDataLoss(cut.status()));
  if (!cut.ok()) return 0;
  const absl::Status checked = learner::CheckCut(*cut, kBars);
  Check(checked.ok() || absl::IsDataLoss(checked));
  if (checked.ok()) GoOn(*cut);
  return 0;
}

}  // namespace vixen
