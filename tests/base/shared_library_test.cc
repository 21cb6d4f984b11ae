// SPDX-License-Identifier: Apache-2.0
#include "base/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vixen::base {
namespace {

using ::testing::HasSubstr;

constexpr char kLibrary[] = "libm.so.6";

TEST(SharedLibrary, GivesItsFunctions) {
  absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(kLibrary);
  ASSERT_TRUE(library.ok()) << library.status();
  double (*square_root)(double) = nullptr;
  library->Find("sqrt", square_root);
  ASSERT_TRUE(library->FoundAll().ok());
  EXPECT_EQ(square_root(9.0), 3.0);
}

TEST(SharedLibrary, NamesTheFirstFunctionThatItLacks) {
  absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(kLibrary);
  ASSERT_TRUE(library.ok()) << library.status();
  double (*function)(double) = nullptr;
  library->Find("sqrt", function);
  library->Find("noSuchFunction", function);
  EXPECT_EQ(function, nullptr);
  library->Find("norThisOne", function);
  library->Find("cbrt", function);
  EXPECT_NE(function, nullptr);
  const absl::Status status = library->FoundAll();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "libm.so.6 has no noSuchFunction");
}

TEST(SharedLibrary, ThatIsNotThereIsNamed) {
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open("libvixen-nowhere.so.1");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(library.status().message()),
              HasSubstr("libvixen-nowhere.so.1 cannot be loaded"));
}

}  // namespace
}  // namespace vixen::base
