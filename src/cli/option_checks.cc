// SPDX-License-Identifier: Apache-2.0
#include "cli/option_checks.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"

namespace comity::cli {
namespace {

const std::vector<std::string>& output_names() {
  static const std::vector<std::string> names = {"table", "json", "jsonl", "csv"};  // in the order of Output
  return names;
}

// Each gives the reason why a text is not accepted, or nothing.
std::string refuse_real(const std::string& text) {
  return parse_double(text) ? "" : fmt::format("'{}' is no finite number", printable(text));
}

template <class T>
std::string refuse_whole(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  if (error == std::errc::result_out_of_range) return fmt::format("{} is out of range", printable(text));
  return fmt::format("'{}' is no whole number{}", printable(text), text.starts_with('-') ? " from 0 on" : "");
}

// The parser behind would read "010" as octal.
std::string without_zeros(std::string text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t first = std::min(text.find_first_not_of('0', sign), text.size());
  const std::size_t zeros = first - sign;
  const bool all = first == text.size();
  if (zeros > (all ? 1U : 0U)) text.erase(sign, zeros - (all ? 1 : 0));
  return text;
}

CLI::Validator validator(std::string (*refuse)(const std::string&), bool whole) {
  return CLI::Validator(
      [refuse, whole](std::string& text) {
        std::string why = refuse(text);
        if (why.empty() && whole) text = without_zeros(std::move(text));
        return why;
      },
      "");
}

std::string refuse_empty(const std::string& text) { return text.empty() ? "is empty" : ""; }

// Whether it is the name of a file, a folder or a cluster, which an unset variable of a script leaves empty.
bool names_something(const CLI::Option& option) {
  static const char* const kNames[] = {"cluster",        "nodes", "out",   "into",     "colocation",
                                       "sharing-scores", "rates", "trace", "key-file", "new-key"};
  return option.get_positional() ||
         std::any_of(std::begin(kNames), std::end(kNames), [&](const char* name) { return option.check_lname(name); });
}

void check_option(CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (names_something(option)) option.transform(validator(refuse_empty, false));
  if (type.starts_with("FLOAT")) option.transform(validator(refuse_real, false));
  if (type.starts_with("UINT")) option.transform(validator(refuse_whole<std::uint64_t>, true));
  if (type.starts_with("INT")) option.transform(validator(refuse_whole<std::int64_t>, true));
  if (!option.get_positional() && option.get_expected_max() > 1) option.allow_extra_args(false);
}

// The options that every command takes; --out only where a folder is left.
std::string shared_help(const CLI::App& root, bool folder) {
  std::string help = "Options of every command:\n";
  for (const CLI::Option* option : root.get_options()) {
    if (option->check_lname("help") || option->check_lname("version")) continue;
    if (option->check_lname("out") && !folder) continue;
    std::string names = option->get_name(false, true);
    if (option->get_expected_max() > 0) names += " " + option->get_option_text();
    help += fmt::format("  {:<28}{}\n", names, option->get_description());
  }
  return help + "\n";
}

std::vector<CLI::App*> verbs_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

bool leaves_folder(CLI::App& app, const std::vector<const CLI::App*>& folders) {
  if (std::find(folders.begin(), folders.end(), &app) != folders.end()) return true;
  const std::vector<CLI::App*> verbs = verbs_of(app);
  return std::any_of(verbs.begin(), verbs.end(), [&](CLI::App* verb) { return leaves_folder(*verb, folders); });
}

void check_app(CLI::App& app, const CLI::App& root, const std::vector<const CLI::App*>& folders) {
  for (CLI::Option* option : app.get_options()) check_option(*option);
  if (app.get_parent() != nullptr) app.footer(shared_help(root, leaves_folder(app, folders)) + app.get_footer());
  for (CLI::App* sub : verbs_of(app)) check_app(*sub, root, folders);
}

}  // namespace

void check_options(CLI::App& root, const std::vector<const CLI::App*>& folders) { check_app(root, root, folders); }

Status check_out(const CLI::App& root, const std::vector<const CLI::App*>& folders) {
  if (root.get_option("--out")->count() == 0) return {};
  const CLI::App* verb = &root;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  if (verb == &root || std::find(folders.begin(), folders.end(), verb) != folders.end()) return {};
  std::string line = verb->get_name();
  for (const CLI::App* app = verb->get_parent(); app != &root; app = app->get_parent())
    line.insert(0, app->get_name() + " ");
  return fail_option("--out", fmt::format("comity {} leaves no folder", line), "its result is what it prints");
}

Status refuse_idle(const CLI::App& verb, unsigned mode, std::string_view what, std::span<const GoesWith> table) {
  for (const GoesWith& row : table) {
    if ((row.modes & mode) != 0 || verb.get_option(row.option)->count() == 0) continue;
    return fail_option(row.option, fmt::format("says nothing {}", what), fmt::format("it goes with {}", row.with));
  }
  return {};
}

std::optional<Output> parse_output(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto it = std::find(output_names().begin(), output_names().end(), lower);
  if (it == output_names().end()) return std::nullopt;
  return static_cast<Output>(it - output_names().begin());
}

std::string refuse_output(const std::string& text) {
  if (parse_output(text)) return "";
  const std::string near = nearest(text, output_names());
  return fmt::format("'{}' is none of {}{}", printable(text), fmt::join(output_names(), ", "),
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

Output wanted_output(int argc, const char* const* argv) {
  Output wanted = Output::kTable;
  for (int i = 1; i < argc; ++i) {
    std::string_view value = argv[i];
    if (value == "--") break;
    if (value == "-o" || value == "--output") {
      value = i + 1 < argc ? argv[i + 1] : "";
    } else if (value.starts_with("--output=")) {
      value.remove_prefix(9);
    } else if (value.starts_with("-o")) {
      value.remove_prefix(value.starts_with("-o=") ? 3 : 2);
    } else {
      continue;
    }
    wanted = parse_output(value).value_or(wanted);
  }
  return wanted;
}

}  // namespace comity::cli
