// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks functions that are compiled for the host and, under nvcc, for the device as well: the rules
// of the environment exist once.
#if defined(__CUDACC__)
#define VIXEN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define VIXEN_HOST_DEVICE inline
#endif
