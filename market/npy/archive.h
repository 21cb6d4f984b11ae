// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/npy/array.h"

namespace vixen::market::npy {

// The arrays of a file in its order: one without a name of an .npy file, the members of an .npz
// archive (a zip file, stored or deflated). Errors name file and array: INVALID_ARGUMENT, DATA_LOSS
// for what is cut, damaged (CRC-32) or does not unfold to its stated size, or what reading gave.
// Memory: the values.
absl::StatusOr<std::vector<Array>> ReadArrays(const std::string& path);

}  // namespace vixen::market::npy
