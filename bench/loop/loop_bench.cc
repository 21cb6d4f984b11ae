// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/loop_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/kernels/kernel_bench.h"
#include "bench/loop/metric_samples.h"
#include "market/synth/bed.h"
#include "market/synth/bed_dataset.h"
#include "proto/telemetry/http_get.h"
#if defined(VIXEN_WITH_CUDA)
#include "bench/kernels/cuda_kernel_bench.h"
#endif

namespace vixen::bench {
namespace {

using base::ChildProcess;
using base::StrCat;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStartLimit(60);
constexpr uint64_t kBars = 200'000;

// Removed with all that is in it at the end; a signal that ends this process leaves it.
class TemporaryFolder {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Make() {
    std::string path = (std::filesystem::temp_directory_path() / "vixen-loop-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) return base::ErrnoToStatus(errno, "make", path);
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string File(const std::string& name) const { return StrCat(path_, "/", name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// One of the two, serving.
struct Side {
  std::string name;
  std::unique_ptr<ChildProcess> process;
  std::vector<int> ports;  // the actor's: gRPC, metrics; the learner's: metrics first

  // With the last line of its log; its own exit code 2 stays one.
  absl::Status Failed(const std::string& what) const {
    const std::string log = process->Errors();
    const size_t end = log.find_last_not_of('\n') + 1;
    const size_t begin = end == 0 ? 0 : log.find_last_of('\n', end - 1) + 1;
    const std::string text = StrCat(name, " ", what, ": ", log.substr(begin, end - begin));
    return !process->Runs() && process->exit_code() == base::kExitUsage ? base::UsageError(text)
                                                                        : absl::InternalError(text);
  }
};

absl::StatusOr<Side> Start(const std::string& program, std::vector<std::string> arguments,
                           const std::vector<std::string>& more, const TemporaryFolder& folder) {
  Side side{.name = std::filesystem::path(program).filename().string()};
  const std::string port_file = folder.File(StrCat(side.name, ".ports"));
  for (const std::string& flag : more) arguments.push_back(StrCat("--", flag));
  arguments.insert(arguments.end(), {"--metrics_listen", "127.0.0.1:0", "--port_file", port_file});
  VIXEN_ASSIGN_OR_RETURN(
      side.process, ChildProcess::Start(program, arguments, folder.File(StrCat(side.name, ".out")),
                                        folder.File(StrCat(side.name, ".log"))));
  side.ports = side.process->WaitForPorts(port_file, kStartLimit);
  if (side.ports.empty()) return side.Failed("does not start");
  return side;
}

// Both sides at one moment.
struct Look {
  MetricSamples actor, learner;
  Clock::time_point time;
  double actor_cpu, learner_cpu;
};

absl::StatusOr<Look> LookAt(const Side& actor, const Side& learner) {
  for (const Side* side : {&actor, &learner}) {
    if (!side->process->Runs()) return side->Failed("ended");
  }
  VIXEN_ASSIGN_OR_RETURN(const std::string of_actor,
                         telemetry::HttpGet(actor.ports.at(1), "/metrics"));
  VIXEN_ASSIGN_OR_RETURN(const std::string of_learner,
                         telemetry::HttpGet(learner.ports.at(0), "/metrics"));
  return Look{MetricSamples(of_actor), MetricSamples(of_learner), Clock::now(),
              actor.process->CpuSeconds(), learner.process->CpuSeconds()};
}

absl::Status WaitForUpdates(const Side& actor, const Side& learner) {
  const Clock::time_point deadline = Clock::now() + kStartLimit;
  while (Clock::now() < deadline) {
    VIXEN_ASSIGN_OR_RETURN(const Look look, LookAt(actor, learner));
    if (look.learner.Total("vixen_learner_updates_total") > 0) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::DeadlineExceededError("the learner made no update within a minute");
}

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

Shares SharesOf(const MetricSamples& before, const MetricSamples& after, std::string_view name,
                double seconds) {
  const auto earlier = before.By(name, "activity");
  Shares shares;
  for (const auto& [activity, spent] : after.By(name, "activity")) {
    const auto found = earlier.find(activity);
    shares[activity] = (spent - (found == earlier.end() ? 0 : found->second)) / seconds;
  }
  return shares;
}

// The executor alone, on the kernel bench's market.
absl::Status MeasureExecutor(const LoopBenchOptions& options, const kernels::ChosenExecutor& chosen,
                             LoopBenchResult& result) {
#if defined(VIXEN_WITH_CUDA)
  if (chosen.kind == kernels::ExecutorKind::kCuda) {
    VIXEN_ASSIGN_OR_RETURN(
        const CudaPipelineRow row,
        MeasureCudaPipeline(options.executor.gpu, options.episodes, options.steps));
    result.executor = "cuda";
    result.device = StrCat("GPU ", options.executor.gpu, ", ", row.algorithm);
    result.executor_transitions_per_second =
        1e3 * options.episodes * options.steps / row.launch_to_launch_ms;
    return absl::OkStatus();
  }
#endif
  KernelBenchOptions bench;
  bench.shapes = {{options.episodes, options.steps}};
  bench.threads = result.threads;
  const auto factory = [&](kernels::CollectorOptions of) {
    of.threads = result.threads;
    return chosen.make(of);
  };
  VIXEN_ASSIGN_OR_RETURN(const KernelBenchResult measured, RunKernelBench(bench, factory));
  result.executor = measured.info.executor;
  result.device = measured.info.device;
  result.executor_transitions_per_second = measured.rows.front().transitions_per_second;
  return absl::OkStatus();
}

absl::Status WriteMarket(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const auto bed, market::MakeBed("b2", {}));
  const auto signals = static_cast<uint32_t>(bed->traits().signals.size());
  VIXEN_ASSIGN_OR_RETURN(
      const auto dataset,
      market::MakeBedDataset(
          *bed, {.bars = kBars, .distractors = kernels::Architecture{}.features - signals}));
  return dataset->Write(path);
}

}  // namespace

absl::StatusOr<LoopBenchResult> RunLoopBench(const LoopBenchOptions& options) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::ChosenExecutor chosen,
                         kernels::ChooseExecutor(options.executor));
  const int processors = base::AvailableCpus();
  LoopBenchResult result;
  result.threads = options.threads > 0 ? options.threads : std::max(1, processors / 2);
  result.torch_threads =
      options.torch_threads > 0 ? options.torch_threads : std::max(1, processors - processors / 2);
  VIXEN_RETURN_IF_ERROR(MeasureExecutor(options, chosen, result));

  VIXEN_ASSIGN_OR_RETURN(const auto folder, TemporaryFolder::Make());
  std::string dataset = options.dataset;
  if (dataset.empty()) {
    dataset = folder->File("market.safetensors");
    VIXEN_RETURN_IF_ERROR(WriteMarket(dataset));
  }
  VIXEN_ASSIGN_OR_RETURN(
      const Side actor,
      Start(options.actor_program,
            {"--dataset", dataset, "--listen", "127.0.0.1:0", "--executor", result.executor,
             "--gpu", StrCat(options.executor.gpu), "--threads", StrCat(result.threads),
             "--episodes", StrCat(options.episodes), "--steps", StrCat(options.steps)},
            options.actor_flags, *folder));
  VIXEN_ASSIGN_OR_RETURN(
      const Side learner,
      Start(options.learner_program,
            {"--actor", StrCat("127.0.0.1:", actor.ports.front()), "--dataset", dataset, "--out",
             folder->File("run"), "--cache", folder->File("cache"), "--device", options.device,
             "--torch_threads", StrCat(result.torch_threads), "--batch_size",
             StrCat(options.batch_size), "--samples_per_insert", StrCat(options.samples_per_insert),
             "--capacity", StrCat(options.capacity)},
            options.learner_flags, *folder));
  VIXEN_RETURN_IF_ERROR(WaitForUpdates(actor, learner));
  Sleep(options.warm_up);
  VIXEN_ASSIGN_OR_RETURN(const Look before, LookAt(actor, learner));
  Sleep(options.seconds);
  VIXEN_ASSIGN_OR_RETURN(const Look after, LookAt(actor, learner));

  const double seconds = std::chrono::duration<double>(after.time - before.time).count();
  const auto rate = [&](MetricSamples Look::*side, std::string_view name) {
    return ((after.*side).Total(name) - (before.*side).Total(name)) / seconds;
  };
  result.seconds = seconds;
  result.transitions_per_second = rate(&Look::actor, "vixen_transitions_total");
  result.sent_gigabytes_per_second = rate(&Look::actor, "vixen_stream_sent_bytes_total") / 1e9;
  result.inserted_per_second = rate(&Look::learner, "vixen_replay_inserts_total");
  result.updates_per_second = rate(&Look::learner, "vixen_learner_updates_total");
  result.actor_cores = (after.actor_cpu - before.actor_cpu) / seconds;
  result.learner_cores = (after.learner_cpu - before.learner_cpu) / seconds;
  result.actor = SharesOf(before.actor, after.actor, "vixen_actor_activity_seconds_total", seconds);
  result.learner =
      SharesOf(before.learner, after.learner, "vixen_learner_activity_seconds_total", seconds);
  return result;
}

}  // namespace vixen::bench
