// SPDX-License-Identifier: Apache-2.0
// Early return on absl::Status. Errors are values inside Vixen; they become grpc::Status or an exit
// code at one border only.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define VIXEN_CONCAT_INNER_(a, b) a##b
#define VIXEN_CONCAT_(a, b) VIXEN_CONCAT_INNER_(a, b)

#define VIXEN_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                        \
    if (absl::Status vixen_status_ = (expression); !vixen_status_.ok()) return vixen_status_; \
  } while (false)

// VIXEN_ASSIGN_OR_RETURN(auto value, Function()); declares or assigns the left side.
#define VIXEN_ASSIGN_OR_RETURN(left, expression) \
  VIXEN_ASSIGN_OR_RETURN_(VIXEN_CONCAT_(vixen_statusor_, __LINE__), left, expression)
#define VIXEN_ASSIGN_OR_RETURN_(result, left, expression) \
  auto result = (expression);                             \
  if (!result.ok()) return std::move(result).status();    \
  left = std::move(result).value()
