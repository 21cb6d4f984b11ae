// SPDX-License-Identifier: Apache-2.0
// import_bench read|import csv|dbn FILE [OUT]: reads bars, or imports them as `vixen import` does,
// and prints seconds, bars a second and the most memory that was resident. bench/market/run.sh runs
// it beside its peers.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/csv/reader.h"
#include "market/dbn/reader.h"
#include "market/import.h"

namespace vixen {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::StatusOr<market::Bars> Read(const std::string& format, const std::string& path) {
  if (format == "dbn") return market::ReadDbn({path}, {});
  return market::ReadCsv({path}, {});
}

absl::Status Run(const std::string& what, const std::string& format, const std::string& path,
                 const std::string& out) {
  const Clock::time_point start = Clock::now();
  VIXEN_ASSIGN_OR_RETURN(market::Bars bars, Read(format, path));
  const double count = static_cast<double>(bars.size());
  const double reading = SecondsSince(start);
  if (what == "import") {
    market::ImportOptions options;
    options.source = format;
    options.threads = base::AvailableCpus();
    VIXEN_RETURN_IF_ERROR(market::ImportBars(std::move(bars), options, out).status());
  }
  const double seconds = SecondsSince(start);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"what\": \"%s %s\", \"bars\": %.0f, \"seconds\": %.3f, \"reading\": %.3f, "
      "\"bars_per_second\": %.0f, \"cpu_seconds\": %.3f, \"rss_mb\": %ld}\n",
      what.c_str(), format.c_str(), count, seconds, reading, count / seconds,
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
      usage.ru_maxrss / 1024);
  return absl::OkStatus();
}

}  // namespace
}  // namespace vixen

int main(int argc, char** argv) {
  if (argc < 4 || (std::string(argv[1]) == "import" && argc < 5)) {
    std::fprintf(stderr, "usage: import_bench read|import csv|dbn FILE [OUT]\n");
    return 2;
  }
  return vixen::base::ReportStatus("import_bench",
                                   vixen::Run(argv[1], argv[2], argv[3], argc > 4 ? argv[4] : ""));
}
