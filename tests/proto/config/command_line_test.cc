// SPDX-License-Identifier: Apache-2.0
#include "proto/config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/exit_code.h"

namespace vixen::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Normalised(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "vixen");
  return NormaliseArguments(static_cast<int>(arguments.size()), arguments.data());
}

TEST(NormaliseArguments, TurnsDashesOfTheNameOnlyIntoUnderscores) {
  EXPECT_THAT(Normalised({"--max-gap=a-b", "x-y", "-h", "--rest"}),
              ElementsAre("--max_gap=a-b", "x-y", "-h", "--rest"));
}

TEST(NormaliseArguments, MakesAnEmptyValueAnArgumentOfItsOwn) {
  EXPECT_THAT(Normalised({"--metrics-listen=", "next"}),
              ElementsAre("--metrics_listen", "", "next"));
}

TEST(NormaliseArguments, LeavesWhatFollowsTwoDashes) {
  EXPECT_THAT(Normalised({"--a-b", "--", "--c-d="}), ElementsAre("--a_b", "--", "--c-d="));
}

TEST(NormaliseArguments, HandlesNoArguments) {
  EXPECT_TRUE(Normalised({}).empty());
  EXPECT_TRUE(NormaliseArguments(0, nullptr).empty());
}

class ParseArgumentsTest : public ::testing::Test {
 protected:
  ParseArgumentsTest() : app_("what it is", "vixen") {
    app_.set_version_flag("--version", "vixen 1.2.3");
    app_.require_subcommand(1);
    CLI::App* import = app_.add_subcommand("import", "reads bars");
    import->add_option("--out", out_, "file")->required();
    import->add_option("--max_gap", gap_, "bars");
    import->add_option("--share", share_, "of all");
    import->add_option("--warm_up", warm_up_, "signed, optional");
    app_.add_subcommand("inspect", "shows a file");
  }
  std::string FaultOf(std::vector<std::string> arguments) {
    std::string text;
    const absl::Status status = ParseArguments(app_, std::move(arguments), text);
    EXPECT_TRUE(base::IsUsageError(status)) << status;
    EXPECT_EQ(text, "");
    return std::string(status.message());
  }
  std::string TextOf(std::vector<std::string> arguments) {
    std::string text;
    const absl::Status status = ParseArguments(app_, std::move(arguments), text);
    EXPECT_TRUE(status.ok()) << status;
    return text;
  }

  CLI::App app_;
  std::string out_;
  uint32_t gap_ = 0;
  double share_ = 0;
  std::optional<int> warm_up_;
};

TEST_F(ParseArgumentsTest, FillsTheOptions) {
  EXPECT_EQ(TextOf({"import", "--max_gap", "7", "--out=f"}), "");
  EXPECT_EQ(out_, "f");
  EXPECT_EQ(gap_, 7u);
}

TEST_F(ParseArgumentsTest, AnswersHelpAndVersion) {
  EXPECT_THAT(TextOf({"--help"}), HasSubstr("reads bars"));
  EXPECT_THAT(TextOf({"import", "--help"}), HasSubstr("--max_gap"));
  EXPECT_EQ(TextOf({"--version"}), "vixen 1.2.3\n");
}

TEST_F(ParseArgumentsTest, NamesTheNearestFlagAlsoWhereARequiredOneIsMissing) {
  EXPECT_THAT(FaultOf({"import", "--out=f", "--maxgap=3"}),
              HasSubstr("unknown flag --maxgap; did you mean --max_gap?; see vixen import --help"));
  EXPECT_THAT(FaultOf({"import", "--outt=f"}),
              HasSubstr("unknown flag --outt; did you mean --out?"));
}

TEST_F(ParseArgumentsTest, NamesTheNearestCommand) {
  EXPECT_THAT(FaultOf({"imprt"}), HasSubstr("unknown command \"imprt\"; did you mean import?"));
}

TEST_F(ParseArgumentsTest, NamesASurplusArgument) {
  EXPECT_THAT(FaultOf({"inspect", "x"}), HasSubstr("unexpected argument \"x\""));
}

TEST_F(ParseArgumentsTest, NamesWhatIsMissing) {
  EXPECT_THAT(FaultOf({"import"}), HasSubstr("--out is required; see vixen import --help"));
  EXPECT_THAT(FaultOf({}), HasSubstr("subcommand is required"));
}

TEST_F(ParseArgumentsTest, NamesTheFlagWhoseValueIsNoNumber) {
  EXPECT_THAT(FaultOf({"import", "--out=f", "--max_gap", "x"}), HasSubstr("--max_gap"));
}

TEST_F(ParseArgumentsTest, ParseCommandLineGivesExitCodes) {
  const char* good[] = {"vixen", "inspect"};
  EXPECT_EQ(ParseCommandLine(app_, 2, good, "vixen"), std::nullopt);
  const char* version[] = {"vixen", "--version"};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(ParseCommandLine(app_, 2, version, "vixen"), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "vixen 1.2.3\n");
  const char* bad[] = {"vixen", "inspect", "--x"};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ParseCommandLine(app_, 3, bad, "vixen"), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "vixen: unknown flag --x; see vixen inspect --help\n");
}

TEST_F(ParseArgumentsTest, TakesWholeNumbersInDigitsOnly) {
  for (const char* wrong : {"-1", "+5", "0x10", " 5", "5 ", "1e6", "2.5", "", "five",
                            "18446744073709551616", "4294967296"}) {
    EXPECT_THAT(FaultOf({"import", "--out", "o", "--max_gap", wrong}), HasSubstr("--max_gap"))
        << wrong;
    EXPECT_THAT(FaultOf({"import", "--out", "o", "--warm_up", wrong}), HasSubstr("--warm_up"))
        << wrong;
  }
}

TEST_F(ParseArgumentsTest, ReadsALeadingZeroAsDecimal) {
  TextOf({"import", "--out", "o", "--max_gap", "010"});
  EXPECT_EQ(gap_, 10u);
  TextOf({"import", "--out", "o", "--warm_up", "0100"});
  EXPECT_EQ(warm_up_, 100);
}

TEST_F(ParseArgumentsTest, TakesFiniteDecimalNumbersOnly) {
  for (const char* wrong : {"nan", "inf", "-inf", "0x1p3", "1e999", "1,5", "", "half"}) {
    EXPECT_THAT(FaultOf({"import", "--out", "o", "--share", wrong}), HasSubstr("--share")) << wrong;
  }
  TextOf({"import", "--out", "o", "--share", "-2.5e-1"});
  EXPECT_EQ(share_, -0.25);
}

}  // namespace
}  // namespace vixen::config
