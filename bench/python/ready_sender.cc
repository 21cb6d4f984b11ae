// SPDX-License-Identifier: Apache-2.0
// The sending end of bench/python/stream_rate.py: the real actor with rows that are ready. Prints
// its port and serves until its standard input ends.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/keep_memory.h"
#include "bench/stream/sender_process.h"

int main(int argc, char** argv) {
  CLI::App app("an actor whose rows are ready", "ready_sender");
  vixen::bench::SenderActor actor{.episodes = 128, .steps = 500, .chunk_bytes = 2 << 20};
  app.add_option("--episodes", actor.episodes, "slots of a batch");
  app.add_option("--steps", actor.steps, "steps of a batch");
  app.add_option("--chunk_bytes", actor.chunk_bytes, "of a chunk");
  CLI11_PARSE(app, argc, argv);
  vixen::base::KeepFreedMemory();
  const auto sender = vixen::bench::SenderProcess::Start({actor});
  if (!sender.ok()) {
    std::cerr << "ready_sender: " << sender.status().ToString() << "\n";
    return 1;
  }
  std::cout << (*sender)->actor_port(0) << std::endl;
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
