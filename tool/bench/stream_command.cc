// SPDX-License-Identifier: Apache-2.0
// vixen bench stream: actor to consumer over loopback, rows ready.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "bench/stream/stream_bench.h"
#include "tool/bench/bench.h"
#include "tool/bench/shape.h"

namespace vixen::tool {
namespace {

struct StreamFlags {
  std::vector<std::string> shapes;
  bench::StreamBenchOptions options;
  std::string json;
};

nlohmann::json ToJson(const std::vector<bench::StreamBenchRow>& rows) {
  nlohmann::json streams = nlohmann::json::array();
  for (const bench::StreamBenchRow& row : rows) {
    streams.push_back(
        {{"stream", row.kind},
         {"episodes", row.shape.episodes},
         {"steps", row.shape.steps},
         {"batch_bytes", row.batch_bytes},
         {"chunk_bytes", row.chunk_bytes},
         {"gigabytes_per_second", row.gigabytes_per_second},
         {"slowest", row.slowest},
         {"fastest", row.fastest},
         {"sender_cpu_seconds_per_gigabyte", row.sender_cpu_seconds_per_gigabyte},
         {"receiver_cpu_seconds_per_gigabyte", row.receiver_cpu_seconds_per_gigabyte}});
  }
  return {{"bench", "stream"}, {"streams", std::move(streams)}};
}

absl::Status RunStream(StreamFlags& flags) {
  if (!flags.shapes.empty()) flags.options.shapes.clear();
  for (const std::string& text : flags.shapes) {
    VIXEN_ASSIGN_OR_RETURN(const Shape shape, ParseShape(text));
    flags.options.shapes.push_back({shape.episodes, shape.steps});
  }
  VIXEN_ASSIGN_OR_RETURN(const std::vector<bench::StreamBenchRow> rows,
                         bench::RunStreamBench(flags.options));
  std::cout << bench::DescribeStreamBench(rows);
  if (flags.json.empty()) return absl::OkStatus();
  return base::WriteFileAtomically(flags.json, ToJson(rows).dump(2) + "\n");
}

}  // namespace

void AddStreamBench(CLI::App& bench, Selected& selected) {
  auto flags = std::make_shared<StreamFlags>();
  CLI::App* command =
      bench.add_subcommand("stream", "batches from an actor to a consumer over loopback");
  command->add_option("--shapes", flags->shapes, "NxL of the batches (default 128x500 1024x256)");
  command->add_option("--chunk_bytes", flags->options.chunk_bytes, "sizes of the chunks")
      ->check(CLI::Range(4096, 3145728))
      ->capture_default_str();
  command->add_option("--seconds", flags->options.seconds, "of each measurement")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command->add_option("--rounds", flags->options.rounds, "the streams take turns so often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--certificates", flags->options.certificates,
                      "folder of scripts/dev-certs.sh: measures mTLS too");
  command->add_option("--json", flags->json, "file for the figures");
  command->callback([flags, &selected] { selected = [flags] { return RunStream(*flags); }; });
}

}  // namespace vixen::tool
