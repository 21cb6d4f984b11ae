// SPDX-License-Identifier: Apache-2.0
#include "tool/completion/completion_script.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/str_cat.h"

namespace vixen::tool {
namespace {

using base::StrCat;

void Collect(const CLI::App& app, const std::string& path, WordsAfter& words) {
  std::vector<std::string>& here = words[path];
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    here.push_back(command->get_name());
    Collect(*command, path.empty() ? command->get_name() : StrCat(path, " ", command->get_name()),
            words);
  }
  // The map's nodes stay where they are while others are added.
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) here.push_back(StrCat("--", name));
  }
}

}  // namespace

WordsAfter WordsOf(const CLI::App& app) {
  WordsAfter words;
  Collect(app, "", words);
  return words;
}

std::string BashScript(const std::string& program, const WordsAfter& words) {
  const std::string name = absl::StrReplaceAll(program, {{"-", "_"}});
  std::string table;
  for (const auto& [path, after] : words) {
    table +=
        StrCat("  [\"", path.empty() ? "." : path, "\"]=\"", absl::StrJoin(after, " "), "\"\n");
  }
  // The command so far grows by each word that leads to an entry of the table; the rest are values.
  return absl::StrReplaceAll(R"(declare -gA _NAME_words=(
TABLE)
_NAME() {
  local current=${COMP_WORDS[COMP_CWORD]} at=. word next
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    next=$word
    [ "$at" = . ] || next="$at $word"
    [ -z "$next" ] || [ -z "${_NAME_words[$next]+there}" ] || at=$next
  done
  COMPREPLY=($(compgen -W "${_NAME_words[$at]}" -- "$current"))
}
complete -o default -o bashdefault -F _NAME PROGRAM
)",
                             {{"TABLE", table}, {"NAME", name}, {"PROGRAM", program}});
}

}  // namespace vixen::tool
