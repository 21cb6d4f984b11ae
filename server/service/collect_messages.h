// SPDX-License-Identifier: Apache-2.0
// What a Collect call says and hears, apart from the batches: messages from and to the types of
// server/stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/codec/column_layout.h"
#include "server/collector/run.h"
#include "server/stream/delivery.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::server {

std::vector<SequenceRange> RangesOf(const v1::RunRanges& run);
// Those of run `run_id`: ranges of other runs speak of what this actor never had.
std::vector<SequenceRange> RangesOf(const google::protobuf::RepeatedPtrField<v1::RunRanges>& runs,
                                    uint64_t run_id);

// What of `open` can be judged by the run alone; statuses as in actor.proto.
absl::Status CheckOpen(const v1::Open& open, const Run& run);

v1::CollectResponse OpenedMessage(const Run& run, const codec::ColumnLayout& layout,
                                  const OpenedStream& stream);
v1::CollectResponse NoticeOf(v1::Notice::Kind kind, std::string text);
// `next_sequence` of the policy.
v1::CollectResponse DrainingNotice(uint64_t run_id, const std::string& policy,
                                   uint64_t next_sequence);
absl::Status DrainingStatus();

}  // namespace vixen::server
