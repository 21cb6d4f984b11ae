// SPDX-License-Identifier: Apache-2.0
// What a shell may offer after the words that stand there, as a script for the shell.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace vixen::tool {

// "import csv" (the commands that stand there, "" for none) → what may follow: commands, then
// flags, each group in the order of their declaration. Hidden options are left out.
using WordsAfter = std::map<std::string, std::vector<std::string>>;
WordsAfter WordsOf(const CLI::App& app);

// A bash function `_PROGRAM` with its `complete` line. Where nothing fits, bash's own completion of
// file names goes on.
std::string BashScript(const std::string& program, const WordsAfter& words);

}  // namespace vixen::tool
