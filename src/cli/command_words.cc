// SPDX-License-Identifier: Apache-2.0
#include "cli/command_words.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace comity::cli {
namespace {

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./,:=+@%").find(c) != std::string_view::npos;
}

bool was_given(const CLI::App& sub, const std::string& option) {
  for (const CLI::App* app = &sub; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* found = app->get_option_no_throw(option); found != nullptr) return found->count() > 0;
  }
  return false;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_safe)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

CommandWords::CommandWords(const CLI::App& sub) : sub_(&sub) {
  for (const CLI::App* app = &sub; app != nullptr; app = app->get_parent())
    line_.insert(0, line_.empty() ? app->get_name() : app->get_name() + " ");
}

void CommandWords::positional(const std::vector<std::string>& values) {
  // A path that begins with '-' would be taken for an option.
  for (const std::string& value : values)
    line_ += ' ' + shell_word(value.size() > 1 && value.starts_with('-') ? "./" + value : value);
}

void CommandWords::option(std::string_view name, const std::string& value, bool shown) {
  const std::string option = "--" + std::string(name);
  if (shown) line_ += ' ' + option + ' ' + shell_word(value);
  options_.push_back({std::string(name), value, was_given(*sub_, option)});
}

void CommandWords::flag(std::string_view name, bool value) {
  const std::string option = "--" + std::string(name);
  if (value) line_ += ' ' + option;
  options_.push_back({std::string(name), value ? "true" : "false", was_given(*sub_, option)});
}

std::string CommandWords::run_json(const Globals& globals, const Params* params) const {
  JsonWriter json;
  json.begin_object().field("schema", "comity.run/1").field("version", COMITY_VERSION).field("command", line_);
  json.field("seed", globals.seed).key("parameters").begin_array();
  const auto add = [&](std::string_view name, std::string_view value, std::string_view unit, std::string_view origin) {
    json.begin_object().field("name", name).field("value", value).field("unit", unit);
    json.field("origin", origin).end_object();
  };
  for (const Option& o : options_) add(o.name, o.value, "", o.given ? "flag" : "default");
  if (params != nullptr) {
    for (const Param& p : params->declared()) add(p.name, params->value_text(p.name), p.unit, params->origin(p.name));
  }
  return json.end_array().end_object().text() + "\n";
}

}  // namespace comity::cli
