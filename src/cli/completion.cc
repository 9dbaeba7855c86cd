// SPDX-License-Identifier: Apache-2.0
// comity completion bash|zsh|fish: a script made from the commands themselves.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"

namespace comity::cli {
namespace {

std::string words_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* sub : app.get_subcommands({})) out += sub->get_name() + " ";
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out += "--" + name + " ";
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

std::string fish_script(const CLI::App& root) {
  std::string out = "complete -c comity -f\n";
  for (const CLI::App* noun : root.get_subcommands({})) {
    out += fmt::format("complete -c comity -n __fish_use_subcommand -a {} -d '{}'\n", noun->get_name(),
                       noun->get_description());
    for (const CLI::App* verb : noun->get_subcommands({}))
      out += fmt::format("complete -c comity -n '__fish_seen_subcommand_from {}' -a {} -d '{}'\n", noun->get_name(),
                         verb->get_name(), verb->get_description());
    for (const CLI::Option* option : noun->get_options()) {
      for (const std::string& name : option->get_lnames())
        out += fmt::format("complete -c comity -n '__fish_seen_subcommand_from {}' -l {}\n", noun->get_name(), name);
    }
  }
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
