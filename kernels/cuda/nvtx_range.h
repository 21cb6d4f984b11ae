// SPDX-License-Identifier: Apache-2.0
// A named range of the calling thread in profilers (Nsight Systems). Costs a few nanoseconds when
// none is attached.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace vixen::kernels {

class NvtxRange {
 public:
  explicit NvtxRange(const char* name) { nvtxRangePushA(name); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace vixen::kernels
