// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_format.h"
#include "bench/stream/stream_bench.h"

namespace vixen::bench {

std::string DescribeStreamBench(const std::vector<StreamBenchRow>& rows) {
  std::string text =
      absl::StrFormat("%-20s %10s %9s %9s %7s %15s %9s %9s\n", "stream", "N x L", "batch", "chunk",
                      "GB/s", "(least … most)", "sender", "receiver");
  for (const StreamBenchRow& row : rows) {
    absl::StrAppendFormat(
        &text, "%-20s %10s %6.1f MB %6.0f KiB %7.2f   (%.2f … %.2f) %9.2f %9.2f\n", row.kind,
        absl::StrFormat("%d x %d", row.shape.episodes, row.shape.steps),
        static_cast<double>(row.batch_bytes) * 1e-6,
        static_cast<double>(row.chunk_bytes > 0 ? row.chunk_bytes : row.batch_bytes) / 1024,
        row.gigabytes_per_second, row.slowest, row.fastest, row.sender_cpu_seconds_per_gigabyte,
        row.receiver_cpu_seconds_per_gigabyte);
  }
  return text + "sender, receiver: CPU seconds a gigabyte of payload\n";
}

}  // namespace vixen::bench
