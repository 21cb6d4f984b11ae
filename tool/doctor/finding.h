// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "vixen/v1/config.pb.h"

namespace vixen::tool {

enum class Verdict { kOk, kWarn, kFail };  // kFail: a run would stop here

struct Finding {
  std::string subject;  // "CPU", "memory", "port 50051"
  Verdict verdict = Verdict::kOk;
  std::string text;    // what was found
  std::string remedy;  // empty when ok
};

// The machine: instruction sets, cores and memory that the cgroup allows, open files.
std::vector<Finding> ExamineMachine();
// NVIDIA's driver and devices. None is no fault: everything runs on the CPU.
std::vector<Finding> ExamineGpu();
// The executor that `executor: auto` takes here, tried with a small launch: which one, which
// algorithm and why.
Finding ExamineExecutor();
// The shared libraries that Vixen's programs need at run time.
std::vector<Finding> ExamineLibraries();
// Whether HOST:PORT can be listened on.
Finding ExaminePort(const std::string& address);
// Whether a folder (or the nearest one above that exists) can be written and has room.
Finding ExamineFolder(const std::string& subject, const std::string& path);
// Whether the dataset loads.
Finding ExamineDataset(const std::string& path);
// Whether certificate, key and authority belong together, are valid, and for how long.
Finding ExamineCertificates(const v1::TlsSettings& tls);
// Whether an actor would take `address` with these certificates; text is empty where it would.
Finding ExamineListenSecurity(const std::string& address, const v1::TlsSettings& tls);
// Whether the actor answers, lets us in, and has the same dataset where one is given.
Finding ExamineActor(const std::string& address, const v1::TlsSettings& tls,
                     const std::string& dataset);
// Whether the newest checkpoint below `out` is whole.
Finding ExamineCheckpoints(const std::string& out);

// The folder of fetched datasets: $XDG_CACHE_HOME/vixen or ~/.cache/vixen.
std::string CacheFolder();

}  // namespace vixen::tool
