# SPDX-License-Identifier: Apache-2.0
# Targets LibTorch::cpu and, when the wheel's CUDA libraries are there, LibTorch::cuda, from the
# unpacked `torch` wheel (scripts/get_libtorch.sh). The wheel's own TorchConfig.cmake is not used: it
# enables the CUDA language and probes MKL even for a CPU build.
set(_root "${VIXEN_LIBTORCH_ROOT}")
if(NOT _root)
  set(_root "$ENV{HOME}/.cache/vixen/libtorch-2.11.0")
endif()
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS ${_root}/torch/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 PATHS ${_root}/torch/lib NO_DEFAULT_PATH)
find_library(LibTorch_CUDA_LIBRARY torch_cuda PATHS ${_root}/torch/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_CUDA_LIBRARY c10_cuda PATHS ${_root}/torch/lib NO_DEFAULT_PATH)
find_path(LibTorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h PATHS ${_root}/torch/include NO_DEFAULT_PATH)
if(LibTorch_INCLUDE_DIR)
  file(STRINGS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h _v
       REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^;0-9]" "" _v "${_v}")
  list(JOIN _v "." LibTorch_VERSION)
endif()
# The wheel holds Gloo's code, not its headers; Debian's are of a version that fits.
find_path(LibTorch_GLOO_INCLUDE_DIR gloo/transport/device.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR LibTorch_GLOO_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/install_deps.sh (libgloo-dev) and scripts/get_libtorch.sh, or configure with -DVIXEN_TORCH=OFF")
if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  target_include_directories(LibTorch::cpu SYSTEM INTERFACE
    ${LibTorch_INCLUDE_DIR} ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_compile_definitions(LibTorch::cpu INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(LibTorch::cpu INTERFACE ${LibTorch_CPU_LIBRARY} ${LibTorch_C10_LIBRARY})
  if(LibTorch_CUDA_LIBRARY AND LibTorch_C10_CUDA_LIBRARY)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    # As link options: among link libraries CMake would reorder them and the linker drop libtorch_cuda.
    target_link_options(LibTorch::cuda INTERFACE LINKER:--no-as-needed LINKER:--allow-shlib-undefined)
    target_link_libraries(LibTorch::cuda INTERFACE
      ${LibTorch_CUDA_LIBRARY} ${LibTorch_C10_CUDA_LIBRARY} LibTorch::cpu)
  endif()
endif()
