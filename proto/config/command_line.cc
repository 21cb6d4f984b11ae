// SPDX-License-Identifier: Apache-2.0
#include "proto/config/command_line.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/exit_code.h"
#include "base/nearest_name.h"
#include "base/str_cat.h"

namespace vixen::config {
namespace {

using base::StrCat;

// The innermost command that was chosen: where an unknown flag was meant for.
CLI::App& Chosen(CLI::App& app) {
  CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().back();
  return *chosen;
}

std::string CommandName(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : StrCat(CommandName(*app.get_parent()), " ", app.get_name());
}

std::string ExplainUnknown(CLI::App& app, const std::vector<std::string>& unknown) {
  CLI::App& chosen = Chosen(app);
  const auto flag = std::find_if(unknown.begin(), unknown.end(), [](const std::string& argument) {
    return argument.rfind("--", 0) == 0;
  });
  const std::string& argument = flag != unknown.end() ? *flag : unknown.front();
  const std::string where = StrCat("; see ", CommandName(chosen), " --help");
  if (flag != unknown.end()) {
    const std::string name = argument.substr(2, argument.find('=') - 2);
    std::vector<std::string> known;
    for (const CLI::Option* option : chosen.get_options()) {
      for (const std::string& other : option->get_lnames()) known.push_back(other);
    }
    return StrCat("unknown flag --", name, base::DidYouMean(name, known, "--"), where);
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : chosen.get_subcommands([](CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  return StrCat(commands.empty() ? "unexpected argument \"" : "unknown command \"", argument, "\"",
                base::DidYouMean(argument, commands), where);
}

// CLI11 takes numbers as C does: "-1" becomes 18446744073709551615, "010" eight, "nan" a number.
std::string PlainWhole(std::string& text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  uint64_t number = 0;
  if (!digits || !absl::SimpleAtoi(text, &number)) {
    return StrCat("\"", text, "\" is not a whole number of 0 or more");
  }
  text = StrCat(number);  // without zeros in front
  return "";
}

std::string ComplaintOfNumber(const std::string& text) {
  double number = 0;
  const bool plain = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (plain && absl::SimpleAtod(text, &number) && std::isfinite(number)) return "";
  return StrCat("\"", text, "\" is not a decimal number");
}

void RequirePlainNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    // No flag of a signed type has a negative value.
    if (type.rfind("UINT", 0) == 0 || type.rfind("INT", 0) == 0) {
      option->transform(CLI::Validator(PlainWhole, ""));
    } else if (type.rfind("FLOAT", 0) == 0) {
      option->check(CLI::Validator(ComplaintOfNumber, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    RequirePlainNumbers(*command);
  }
}

}  // namespace

std::vector<std::string> NormaliseArguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  bool flags = true;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    flags = flags && argument != "--";
    if (!flags || argument.rfind("--", 0) != 0) {
      arguments.push_back(std::move(argument));
      continue;
    }
    const size_t equals = argument.find('=');
    const size_t end = std::min(equals, argument.size());
    std::replace(argument.begin() + 2, argument.begin() + end, '-', '_');
    const bool empty_value = equals != std::string::npos && equals + 1 == argument.size();
    if (empty_value) argument.pop_back();
    arguments.push_back(std::move(argument));
    if (empty_value) arguments.emplace_back();
  }
  return arguments;
}

absl::Status ParseArguments(CLI::App& app, std::vector<std::string> arguments, std::string& text) {
  RequirePlainNumbers(app);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
    return absl::OkStatus();
  } catch (const CLI::Success& wanted) {
    std::ostringstream out;
    app.exit(wanted, out, out);
    text = out.str();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    // A misspelt flag or command often shows first as a missing or surplus other one.
    const std::vector<std::string> unknown = app.remaining(true);
    if (!unknown.empty()) return base::UsageError(ExplainUnknown(app, unknown));
    return base::UsageError(StrCat(error.what(), "; see ", CommandName(Chosen(app)), " --help"));
  }
}

std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv,
                                    std::string_view program) {
  std::string text;
  const absl::Status status = ParseArguments(app, NormaliseArguments(argc, argv), text);
  if (!status.ok()) return base::ReportStatus(program, status);
  if (text.empty()) return std::nullopt;
  std::cout << text << std::flush;
  return base::kExitDone;
}

}  // namespace vixen::config
