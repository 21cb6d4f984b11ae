// SPDX-License-Identifier: Apache-2.0
// How every Vixen program reads its command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace vixen::config {

// The arguments after the program's name, made uniform: `-` for `_` in flag names is accepted
// ("--foo-bar=a-b" → "--foo_bar=a-b"), an empty value ("--foo=") becomes an argument of its own.
// What follows "--" stays as it is.
std::vector<std::string> NormaliseArguments(int argc, const char* const* argv);

// Parses. nullopt: go on. Otherwise the exit code: 0 after --help or --version (printed to stdout),
// 2 after one line on stderr that names what is wrong and, for an unknown flag or command, the
// nearest right one. `program` begins that line.
std::optional<int> ParseCommandLine(CLI::App& app, std::vector<std::string> arguments,
                                    const std::string& program);

}  // namespace vixen::config
