// SPDX-License-Identifier: Apache-2.0
// How every Vixen program reads its command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace vixen::config {

// The arguments after the program's name, made uniform: `-` for `_` in flag names is accepted
// ("--foo-bar=a-b" → "--foo_bar=a-b"), an empty value ("--foo=") becomes an argument of its own.
// What follows "--" stays as it is.
std::vector<std::string> NormaliseArguments(int argc, const char* const* argv);

// Parses, once for an app. Numbers are plain decimals: whole ones have digits only, none is
// infinite or NaN. OK with empty `text`: go on. OK with `text`: the answer to --help or --version,
// to be printed instead. Otherwise a usage error that names what is wrong and, for an unknown flag
// or command, the nearest right one.
absl::Status ParseArguments(CLI::App& app, std::vector<std::string> arguments, std::string& text);

// The same for a main function. nullopt: go on. Otherwise the exit code: 0 after printing `text` on
// stdout, 2 after one line on stderr, which `program` begins.
std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv,
                                    std::string_view program);

}  // namespace vixen::config
