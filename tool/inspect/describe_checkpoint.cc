// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/checkpoint_head.h"
#include "proto/codec/convert.h"
#include "tool/format.h"
#include "tool/inspect/describe.h"
#include "vixen/v1/checkpoint.pb.h"

namespace vixen::tool {
namespace {

std::string RangesOf(const v1::CheckpointRun& run) {
  std::string text;
  for (const v1::SequenceRange& range : run.sequences()) {
    base::StrAppend(&text, text.empty() ? "" : ", ", range.first(), "–", range.last());
  }
  return text;
}

}  // namespace

absl::StatusOr<Json> DescribeCheckpoint(const std::string& folder) {
  VIXEN_RETURN_IF_ERROR(codec::VerifyCheckpoint(folder));
  VIXEN_ASSIGN_OR_RETURN(const v1::Checkpoint head, codec::ReadCheckpointHead(folder));
  Json json = {
      {"kind", "checkpoint"},
      {"folder", folder},
      {"written", Time(static_cast<int64_t>(head.written_unix_ns()))},
      {"software", head.software()},
      {"policy", head.policy()},
      {"group", head.group()},
      {"consumer", head.consumer()},
      {"architecture", codec::FromProto(head.architecture()).Describe()},
      {"dataset_fingerprint", absl::BytesToHexString(head.dataset_fingerprint())},
      {"scaler_fingerprint", absl::BytesToHexString(head.scaler_fingerprint())},
      {"updates", head.updates()},
      {"transitions", head.transitions()},
      {"online_version", head.online_version()},
      {"target_version", head.target_version()},
      {"curiosity_version", head.curiosity_version()},
      {"replay",
       {{"rows", head.replay().rows()},
        {"capacity", head.replay().capacity()},
        {"inserted", head.replay().inserted()}}},
      {"limiter", {{"inserts", head.limiter_inserts()}, {"samples", head.limiter_samples()}}}};
  Json runs = Json::array();
  for (const v1::CheckpointRun& run : head.runs()) {
    const v1::LearnerSheet& sheet = run.sheet();
    runs.push_back({{"run_id", base::StrCat(absl::Hex(sheet.run_id(), absl::kZeroPad16))},
                    {"actor", sheet.actor()},
                    {"ended", sheet.ended()},
                    {"batches", sheet.inserted().batches()},
                    {"rows", sheet.inserted().rows()},
                    {"lost_rows", sheet.lost_with_predecessor().rows()},
                    {"sequences", RangesOf(run)}});
  }
  json["runs"] = std::move(runs);
  return json;
}

}  // namespace vixen::tool
