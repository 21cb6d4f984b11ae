// SPDX-License-Identifier: Apache-2.0
// A build with CUDA, but without NCCL's header.
#include "learner/device/nccl_group.h"

namespace vixen::learner {

struct NcclGroup::State {
  NcclPlace place;
};

absl::StatusOr<std::unique_ptr<NcclGroup>> NcclGroup::Join(const NcclPlace& /*place*/,
                                                           int /*gpu*/) {
  return NewNcclId().status();
}

NcclGroup::NcclGroup(std::shared_ptr<State> state) : state_(std::move(state)) {}
NcclGroup::~NcclGroup() = default;
const NcclPlace& NcclGroup::place() const { return state_->place; }
absl::Status NcclGroup::Sum(const float* /*from*/, float* /*to*/, size_t /*count*/,
                            cudaStream_t /*stream*/) const {
  return NewNcclId().status();
}
absl::Status NcclGroup::Check() const { return NewNcclId().status(); }
void NcclGroup::Abort() {}

}  // namespace vixen::learner
