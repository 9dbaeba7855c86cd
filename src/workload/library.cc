// SPDX-License-Identifier: Apache-2.0
#include "workload/library.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/input.h"
#include "base/text.h"
#include "workload/model.h"
#include "workload/model_import.h"
#include "workload/system.h"

namespace comity::workload {
namespace {

std::vector<std::string> names_of(std::span<const LibraryFile> files) {
  std::vector<std::string> names;
  for (const LibraryFile& file : files) names.emplace_back(file.name);
  return names;
}

std::optional<std::string_view> text_of(std::span<const LibraryFile> files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const LibraryFile& f) { return f.name == name; });
  if (found == files.end()) return std::nullopt;
  return found->text;
}

bool is_file(const std::string& name) {
  return name == "-" || name.find('/') != std::string::npos || name.ends_with(".toml") || name.ends_with(".json");
}

tl::unexpected<Error> unknown(std::string_view what, const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return fail(Code::kUsage, fmt::format("no {} '{}' is in the library", what, printable(name)),
              near.empty()
                  ? fmt::format("one of {}, or a file", fmt::join(names, ", "))
                  : fmt::format("did you mean '{}'? A file ends in .toml{}", near, what == "model" ? " or .json" : ""));
}

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = names_of(library_models());
  return names;
}

const std::vector<std::string>& system_names() {
  static const std::vector<std::string> names = names_of(library_systems());
  return names;
}

Result<Model> load_model(const std::string& name_or_file) {
  if (const auto text = text_of(library_models(), name_or_file)) return parse_model(*text, name_or_file);
  if (!is_file(name_or_file)) return unknown("model", name_or_file, model_names());
  const Result<std::string> text = read_document(name_or_file);
  if (!text) return fail(text.error());
  return looks_like_json(*text) ? import_model(*text, name_or_file) : parse_model(*text, name_or_file);
}

Result<System> load_system(const std::string& name_or_file) {
  if (const auto text = text_of(library_systems(), name_or_file)) return parse_system(*text, name_or_file);
  if (!is_file(name_or_file)) return unknown("system", name_or_file, system_names());
  const Result<std::string> text = read_document(name_or_file);
  if (!text) return fail(text.error());
  return parse_system(*text, name_or_file);
}

}  // namespace comity::workload
