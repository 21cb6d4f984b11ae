// SPDX-License-Identifier: Apache-2.0
// Hostile consumers: two streams' messages against the books. Whatever comes, the books balance.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/service/collect_messages.h"
#include "server/service/wire.h"
#include "server/stream/delivery.h"
#include "tests/fuzz/messages.h"

namespace {

using namespace vixen;
using namespace vixen::server;

constexpr uint64_t kRunId = 7;
constexpr uint64_t kRows = 3;

void Launch(Delivery& delivery) {
  const std::optional<Delivery::Ticket> ticket = delivery.Reserve();
  if (!ticket) return;
  auto batch = std::make_shared<FinishedBatch>(
      FinishedBatch{.header = {}, .batch = kernels::Batch(1, kRows, false)});
  batch->header.set_sequence(delivery.next_sequence());
  batch->batch.statistics.valid_rows = kRows;
  delivery.Publish(*ticket, std::move(batch));
}

void CheckBalance(const Delivery& delivery) {
  for (const Sheet& sheet : delivery.Sheets()) {
    const uint64_t places = sheet.durable.batches + sheet.acknowledged.batches +
                            sheet.in_flight.batches + sheet.retained.batches +
                            sheet.dropped_overflow.batches + sheet.dropped_lost.batches +
                            sheet.dropped_slow.batches;
    if (places != sheet.offered.batches || sheet.offered.rows != kRows * sheet.offered.batches) {
      std::abort();
    }
  }
}

absl::Status Handle(Delivery& delivery, const v1::CollectRequest& request, StreamId& stream) {
  if (request.has_open()) {
    const v1::Open& open = request.open();
    if (stream != 0) return absl::InvalidArgumentError("a second open");
    static const Run kRun{.run_id = kRunId};
    if (absl::Status status = CheckOpen(open, kRun); !status.ok()) return status;
    ConsumerOptions options{.group = open.group(),
                            .consumer = open.consumer(),
                            .held = RangesOf(open.held(), kRunId),
                            .durable = RangesOf(open.durable(), kRunId)};
    options.wake = [] {};
    auto opened = delivery.Open(std::move(options));
    if (opened.ok()) stream = opened->id;
    return opened.status();
  }
  if (stream == 0) return absl::InvalidArgumentError("no open");
  if (request.has_credit()) return delivery.AddCredit(stream, request.credit().n());
  if (request.has_ack()) {
    return delivery.Acknowledge(stream, request.ack().run_id(), request.ack().sequence());
  }
  if (request.has_durable()) {
    const v1::RunRanges& ranges = request.durable().ranges();
    return delivery.MarkDurable(stream, ranges.run_id(), RangesOf(ranges));
  }
  return absl::InvalidArgumentError("nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Delivery delivery({.run_id = kRunId, .retain_batches = 3, .max_credit = 4, .max_groups = 3},
                    [] {});
  std::array<StreamId, 2> streams{};
  size_t number = 0;
  fuzz::Messages messages({data, size});
  while (const std::optional<std::string> bytes = messages.Next()) {
    StreamId& stream = streams[number++ % streams.size()];
    const grpc::Slice slice(*bytes);
    grpc::ByteBuffer buffer(&slice, 1);
    const auto request = ParseCollectRequest(buffer);
    const absl::Status status =
        request.ok() ? Handle(delivery, *request, stream) : request.status();
    if (!status.ok() && stream != 0) delivery.Close(std::exchange(stream, 0));
    CheckBalance(delivery);
    Launch(delivery);
    if (stream != 0) delivery.Take(stream);
    CheckBalance(delivery);
  }
  for (const StreamId stream : streams) {
    if (stream != 0) delivery.Close(stream);
  }
  CheckBalance(delivery);
  return 0;
}
