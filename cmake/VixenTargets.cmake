# SPDX-License-Identifier: Apache-2.0
# One function for each kind of target, so that every room builds by the same rules.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

# The environment's rules promise equal results on every processor: no fused multiply-add that the
# source does not ask for. x86-64-v3 has FMA, so the compiler would otherwise contract.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(VIXEN_MARCH)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=${VIXEN_MARCH}>)
endif()
if(VIXEN_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(VIXEN_SANITIZE STREQUAL "fuzzer")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(VIXEN_SANITIZE STREQUAL "thread")
  # Debian's protobuf is built without TSan and its map layout depends on this macro.
  add_compile_options(-fsanitize=thread -U__SANITIZE_THREAD__)
  add_link_options(-fsanitize=thread)
endif()

function(_vixen_common target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Werror
    -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers>)
endfunction()

# vixen_library(name SOURCES … [PUBLIC deps…] [PRIVATE deps…]); headers are included from the root.
function(vixen_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    _vixen_common(${name})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
  endif()
  add_library(vixen::${name} ALIAS ${name})
endfunction()

# vixen_binary(name SOURCES … DEPS …): an executable in build/<preset>/bin.
function(vixen_binary name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  _vixen_common(${name})
endfunction()

# vixen_test(name SOURCES … DEPS … [LABELS unit] [ENVIRONMENT …] [TIMEOUT s] [SLOW_TO_SANITIZE]): a
# GoogleTest program, one ctest entry a program so that sanitizer start-up is paid once. Unit tests
# carry the label `sanitized` as well (scripts/sanitize.sh) unless SLOW_TO_SANITIZE (LibTorch) is given.
function(vixen_test name)
  cmake_parse_arguments(arg "SLOW_TO_SANITIZE" "TIMEOUT" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest_main)
  _vixen_common(${name})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if("unit" IN_LIST arg_LABELS AND NOT arg_SLOW_TO_SANITIZE)
    list(APPEND arg_LABELS sanitized)
    set_property(GLOBAL APPEND PROPERTY VIXEN_SANITIZED_TESTS ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set(env "VIXEN_BIN_DIR=${PROJECT_BINARY_DIR}/bin;VIXEN_SOURCE_DIR=${PROJECT_SOURCE_DIR};${arg_ENVIRONMENT}")
  if(VIXEN_SANITIZE STREQUAL "thread")
    list(APPEND env "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp:ignore_noninstrumented_modules=1")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${env}")
endfunction()
