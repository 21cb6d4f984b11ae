// SPDX-License-Identifier: Apache-2.0
#include "bench/learner/learner_bench_flags.h"

namespace vixen::bench {

void LearnerBenchFlags::AddTo(CLI::App& command) {
  command.add_option("--device", device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command.add_option("--batch_size", batch_sizes, "rows of an update, one or more")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--net", net, "default: 54-256-256-128/128-45; testbed: hidden layers of 64")
      ->check(CLI::IsMember({"default", "testbed"}))
      ->capture_default_str();
  command.add_option("--rows", rows, "capacity of the replay, which is full")
      ->check(CLI::Range(64'000, 1'000'000'000))
      ->capture_default_str();
  command.add_option("--threads", threads, "of the processor; 0: all there are")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--precision", precision, "of a GPU's matrix products")
      ->check(CLI::IsMember({"auto", "fp32", "tf32", "bf16"}))
      ->capture_default_str();
  command.add_option("--algorithm", algorithm, "of a GPU's matrix products")
      ->check(CLI::IsMember({"best", "mma", "wgmma"}))
      ->capture_default_str();
  command
      .add_option("--updates_a_graph", updates_a_graph,
                  "updates of one launch on a GPU; a power of two, else the next smaller")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--curiosity_every", curiosity_every,
                  "on a GPU: the curiosity model too, by every so many updates; 0: not")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command.add_option("--seconds", seconds, "of each measurement")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  command.add_option("--rounds", rounds, "each batch size is measured so often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--json", json, "file for the figures");
}

}  // namespace vixen::bench
