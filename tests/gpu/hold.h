// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vixen::learner {

// Takes every thread of the GPU until this process ends: what is enqueued later never begins. False
// where CUDA would not.
bool HoldTheDevice(int gpu);

}  // namespace vixen::learner
