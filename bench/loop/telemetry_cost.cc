// SPDX-License-Identifier: Apache-2.0
// What metrics and logs cost where the work is done: everything that is counted for one launch, one
// message on a stream, one update, one batch at the learner; a scrape of 64 groups; lines that are
// logged, suppressed, below the level. `telemetry_cost --benchmark_filter=…`
#include <benchmark/benchmark.h>
#include <prometheus/text_serializer.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "learner/metrics/metrics.h"
#include "proto/telemetry/log.h"
#include "proto/telemetry/repeat_filter.h"
#include "server/metrics/actor_metrics.h"

namespace vixen {
namespace {

// As CollectorLoop does for each launch.
void Launch(benchmark::State& state) {
  server::ActorMetrics metrics;
  const server::PolicyMetrics policy = metrics.ForPolicy("p");
  kernels::LaunchStatistics statistics{};
  statistics.valid_rows = 64000;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    policy.launches->Increment();
    policy.epsilon->Set(0.1);
    for (auto* version : policy.weights_version) version->Set(7);
    policy.weights_skipped->Increment(0);
    for (int i = 0; i < 2; ++i) {
      metrics.Spent(
          server::Activity::kLaunching,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    policy.launch_seconds->Observe(0.01);
    policy.batches->Increment();
    policy.AddStatistics(statistics);
    metrics.Spent(server::Activity::kCopying,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    metrics.Spent(server::Activity::kWaitingCredit,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}
BENCHMARK(Launch);

// As CollectStream does for each message of at most chunk_bytes.
void StreamMessage(benchmark::State& state) {
  server::ActorMetrics metrics;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    metrics.sent_bytes->Increment(1 << 20);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    metrics.write_seconds->Observe(seconds);
    metrics.Spent(server::Activity::kSending, seconds);
  }
}
BENCHMARK(StreamMessage);

// As the learner does for each update.
void Update(benchmark::State& state) {
  learner::Metrics metrics;
  for (auto _ : state) {
    metrics.health().Beat();
    double seconds = 0;
    {
      const learner::Spending spending(metrics, learner::Activity::kSampling);
      seconds += spending.seconds();
    }
    const learner::Spending spending(metrics, learner::Activity::kUpdating);
    metrics.update_seconds.Observe(seconds + spending.seconds());
    metrics.updates.Increment();
    metrics.samples.Increment(128);
  }
}
BENCHMARK(Update);

// As the learner does for each batch.
void Insert(benchmark::State& state) {
  learner::Metrics metrics;
  for (auto _ : state) {
    const learner::Spending spending(metrics, learner::Activity::kInserting);
    metrics.batches.Increment();
    metrics.batch_age.Observe(0.01);
    metrics.inserts.Increment(64000);
    metrics.staleness.Observe(1);
  }
}
BENCHMARK(Insert);

// Collecting and writing the registry with 8 policies.
void Scrape(benchmark::State& state) {
  server::ActorMetrics metrics;
  for (int i = 0; i < 8; ++i) metrics.ForPolicy("policy-" + std::to_string(i));
  for (auto _ : state) {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, metrics.registry()->Collect());
    benchmark::DoNotOptimize(text.str());
  }
}
BENCHMARK(Scrape);

std::shared_ptr<spdlog::logger> Logger(int repeats) {
  return std::make_shared<spdlog::logger>(
      "bench",
      std::make_shared<telemetry::RepeatFilter>(std::make_shared<spdlog::sinks::null_sink_mt>(),
                                                repeats, std::chrono::hours(1)));
}

void LogLine(benchmark::State& state) {
  const auto logger = Logger(1 << 30);
  for (auto _ : state) {
    logger->info("stream open{}", telemetry::Fields({{"policy", "p"}, {"group", "g"}}));
  }
}
BENCHMARK(LogLine);

void SuppressedLogLine(benchmark::State& state) {
  const auto logger = Logger(1);
  for (auto _ : state) logger->info("peer 127.0.0.1:{} failed", 4000);
}
BENCHMARK(SuppressedLogLine);

void LogLineBelowTheLevel(benchmark::State& state) {
  const auto logger = Logger(1);
  for (auto _ : state) logger->debug("peer {} failed", 4000);
}
BENCHMARK(LogLineBelowTheLevel);

}  // namespace
}  // namespace vixen

BENCHMARK_MAIN();
