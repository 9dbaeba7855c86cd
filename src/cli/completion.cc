// SPDX-License-Identifier: Apache-2.0
// comity completion bash|zsh|fish: a script made from the commands themselves.
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"

namespace comity::cli {
namespace {

// Commands below `app`, its options, and those that every command takes.
std::string words_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* sub : app.get_subcommands({})) out += sub->get_name() + " ";
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  std::set<std::string> names;
  for (const CLI::App* from : {&app, root}) {
    for (const CLI::Option* option : from->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (names.insert(name).second) out += "--" + name + " ";
      }
    }
  }
  return out;
}

void add_cases(const CLI::App& app, const std::string& path, std::string& out) {
  out += fmt::format("    \"{}\") words=\"{}\";;\n", path, words_of(app));
  for (const CLI::App* sub : app.get_subcommands({}))
    add_cases(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), out);
}

std::string bash_script(const CLI::App& root) {
  std::string cases;
  add_cases(root, "", cases);
  return fmt::format(
      "_comity() {{\n  local path=\"\" words=\"\" i\n  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    [[ ${{COMP_WORDS[i]}} == -* ]] && break\n    [[ $i -gt 2 ]] && break\n"
      "    path=\"${{path:+$path }}${{COMP_WORDS[i]}}\"\n  done\n  while :; do\n  case \"$path\" in\n{}  esac\n"
      "  [[ -n $words || $path != *\" \"* ]] && break\n  path=\"${{path% *}}\"\n  done\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n"
      "  [[ ${{#COMPREPLY[@]}} -eq 0 ]] && COMPREPLY=($(compgen -f -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n"
      "complete -o filenames -F _comity comity\n",
      cases);
}

// A text in single quotes, as fish reads it.
std::string fish_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// The options of `app`, offered where `condition` holds.
void add_fish_options(const CLI::App& app, const std::string& condition, std::string& out) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    out += "complete -c comity" + condition;
    for (const std::string& name : option->get_snames()) out += " -s " + name;
    for (const std::string& name : option->get_lnames()) out += " -l " + name;
    out += fmt::format("{} -d {}\n", option->get_expected_max() > 0 ? " -r" : "", fish_text(option->get_description()));
  }
}

// The commands right behind `path` and what stands below them.
void add_fish_commands(const CLI::App& app, const std::string& path, std::string& out) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    const std::string name = path.empty() ? sub->get_name() : path + " " + sub->get_name();
    out += fmt::format("complete -c comity -f -n '__comity_is {}' -a {} -d {}\n", path, sub->get_name(),
                       fish_text(sub->get_description()));
    add_fish_options(*sub, fmt::format(" -n '__comity_in {}'", name), out);
    add_fish_commands(*sub, name, out);
  }
}

std::string fish_script(const CLI::App& root) {
  std::string out =
      "function __comity_words\n  set -l words (commandline -opc)\n  set -e words[1]\n  for word in $words\n"
      "    string match -q -- '-*' $word; and return\n    echo $word\n  end\nend\n"
      "function __comity_is\n  set -l words (__comity_words | string join ' ')\n  test \"$words\" = \"$argv\"\nend\n"
      "function __comity_in\n  set -l words (__comity_words | string join ' ')\n"
      "  string match -q -- \"$argv *\" \"$words \"\nend\n";
  add_fish_options(root, "", out);
  add_fish_commands(root, "", out);
  return out;
}

}  // namespace

void add_completion(CLI::App& root, Chosen& chosen) {
  CLI::App* sub = root.add_subcommand("completion", "a completion script for your shell");
  sub->footer("Example: comity completion bash > ~/.local/share/bash-completion/completions/comity");
  auto shell = std::make_shared<std::string>();
  sub->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->callback([&root, shell, &chosen] {
    chosen.run = [&root, shell](const Globals&) -> Status {
      if (*shell == "fish") {
        fmt::print("{}", fish_script(root));
      } else {
        if (*shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
        fmt::print("{}", bash_script(root));
      }
      return {};
    };
  });
}

}  // namespace comity::cli
