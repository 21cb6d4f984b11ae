// SPDX-License-Identifier: Apache-2.0
#include "server/service/collect_messages.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/convert.h"
#include "server/collector/policy.h"

namespace vixen::server {

std::vector<SequenceRange> RangesOf(const v1::RunRanges& run) {
  std::vector<SequenceRange> ranges;
  for (const v1::SequenceRange& range : run.ranges()) {
    ranges.push_back({range.first(), range.last()});
  }
  return ranges;
}

std::vector<SequenceRange> RangesOf(const google::protobuf::RepeatedPtrField<v1::RunRanges>& runs,
                                    uint64_t run_id) {
  std::vector<SequenceRange> ranges;
  for (const v1::RunRanges& run : runs) {
    if (run.run_id() != run_id) continue;
    const std::vector<SequenceRange> more = RangesOf(run);
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  return ranges;
}

absl::Status CheckOpen(const v1::Open& open, const Run& run) {
  VIXEN_RETURN_IF_ERROR(CheckName("open.policy", open.policy()));
  VIXEN_RETURN_IF_ERROR(CheckName("open.group", open.group()));
  VIXEN_RETURN_IF_ERROR(CheckName("open.consumer", open.consumer()));
  const std::string own = base::BytesOf(run.dataset_fingerprint);
  if (!open.dataset_fingerprint().empty() && open.dataset_fingerprint() != own) {
    return absl::FailedPreconditionError(base::StrCat(
        "open.dataset_fingerprint is ", absl::BytesToHexString(open.dataset_fingerprint()),
        ", this actor's dataset has ", absl::BytesToHexString(own)));
  }
  if (open.encoding().slot_states() && !run.collector.settings.carry_over) {
    return absl::InvalidArgumentError("encoding.slot_states needs an actor with carry_over");
  }
  return absl::OkStatus();
}

v1::CollectResponse OpenedMessage(const Run& run, const codec::ColumnLayout& layout,
                                  const OpenedStream& stream) {
  v1::CollectResponse response;
  v1::Opened& opened = *response.mutable_opened();
  opened.set_run_id(run.run_id);
  opened.set_episodes(run.collector.episodes);
  opened.set_steps(run.collector.steps);
  *opened.mutable_architecture() = codec::ToProto(run.collector.architecture);
  *opened.mutable_columns() = layout.ToProto();
  opened.set_dataset_fingerprint(base::BytesOf(run.dataset_fingerprint));
  opened.set_scaler_fingerprint(base::BytesOf(run.scaler_fingerprint));
  opened.set_next_sequence(stream.next_sequence);
  opened.mutable_lost_with_consumer()->set_batches(stream.lost.batches);
  opened.mutable_lost_with_consumer()->set_rows(stream.lost.rows);
  opened.set_settings(run.settings);
  opened.set_chunk_bytes(run.limits.chunk_bytes());
  opened.set_max_credit(run.limits.max_credit());
  return response;
}

v1::CollectResponse NoticeOf(v1::Notice::Kind kind, std::string text) {
  v1::CollectResponse response;
  response.mutable_notice()->set_kind(kind);
  response.mutable_notice()->set_text(std::move(text));
  return response;
}

v1::CollectResponse DrainingNotice(uint64_t run_id, const std::string& policy,
                                   uint64_t next_sequence) {
  v1::CollectResponse response =
      NoticeOf(v1::Notice::KIND_DRAINING,
               base::StrCat("no new launches; the stream ends after what was reserved; run ",
                            run_id, " of policy ", policy, " stands at sequence ", next_sequence));
  response.mutable_notice()->set_run_id(run_id);
  response.mutable_notice()->set_next_sequence(next_sequence);
  return response;
}

absl::Status DrainingStatus() {
  return absl::UnavailableError("the actor is draining; reconnect elsewhere or later");
}

}  // namespace vixen::server
