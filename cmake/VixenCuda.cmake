# SPDX-License-Identifier: Apache-2.0
# CUDA for the executor (VIXEN_CUDA=ON): the compiler, its flags and the architectures.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  # T4 and RTX 20, A100, RTX 30, L4 and L40S and RTX 40, H100 and H200; PTX for what comes after.
  set(CMAKE_CUDA_ARCHITECTURES "75-real;80-real;86-real;89-real;90a-real;90-virtual"
      CACHE STRING "GPU architectures")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

if(CMAKE_VERSION VERSION_LESS 3.26)
  # CMake 3.25 does not know that this nvcc speaks C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# The rules give the same bits on host and device: no contraction, IEEE division and square root, and
# subnormals as they are. Matrix products ask for fused multiply-adds by name.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--prec-div=true;--prec-sqrt=true;--ftz=false>")
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off;--expt-relaxed-constexpr;-lineinfo>")
