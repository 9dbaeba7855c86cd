// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/option_checks.h"
#include "cli/standard_output.h"

namespace comity::cli {
namespace {

void add_globals(CLI::App& app, Globals& globals, bool& no_colour) {
  app.add_option_function<std::string>(
         "-o,--output", [&globals](const std::string& text) { globals.output = *parse_output(text); },
         "table (default), json, jsonl or csv")
      ->check(refuse_output)
      ->option_text("FORMAT");
  app.add_option("--out", globals.out_dir, "leave run.json, summary.json, tables and report.html in this folder")
      ->option_text("DIR");
  app.add_option("--seed", globals.seed, "seed of everything that is drawn (default 1)")->option_text("N");
  app.add_flag("-q,--quiet", globals.quiet, "no progress, no notes");
  app.add_flag("-v,--verbose", globals.verbose, "say more on standard error");
  app.add_flag("--no-color", no_colour, "no colours");
}

void print_error(const Error& error, Output output) {
  if (output == Output::kTable || output == Output::kCsv) {
    fmt::print(stderr, "comity: {}\n", printable(error.text(), 64 * 1024));
    return;
  }
  static const std::map<Code, std::string> kNames = {{Code::kFailed, "failed"},
                                                     {Code::kUsage, "usage"},
                                                     {Code::kInput, "input"},
                                                     {Code::kUnreachable, "unreachable"},
                                                     {Code::kNotFound, "not_found"},
                                                     {Code::kConflict, "conflict"},
                                                     {Code::kNotPermitted, "not_permitted"},
                                                     {Code::kInternal, "internal"},
                                                     {Code::kInterrupted, "interrupted"}};
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.field("code", kNames.at(error.code)).field("message", error.message).field("file", error.file);
  json.field("line", error.line).field("field", error.field).field("hint", error.hint).field("cause", error.cause);
  json.end_object().end_object();
  fmt::print(stderr, "{}\n", json.text());
}

// The exit status, standard output having been written as it should; `code` as in finish_standard_output().
int checked(int status, Output output, int code = 0) {
  const Status written = finish_standard_output(code);
  if (written || status != 0) return status;
  if (!written.error().message.empty()) print_error(written.error(), output);
  return static_cast<int>(written.error().code);
}

// What the parser says, with the option or argument that it is about as the field.
Error usage_of(std::string message) {
  static const std::string kUnexpected = "The following argument was not expected: ";
  static const std::string kRequired = " is required";
  Error error;
  error.code = Code::kUsage;
  error.hint = "see --help";
  const std::size_t colon = message.find(": ");
  if (message.starts_with(kUnexpected)) {
    error.field = message.substr(kUnexpected.size());
    error.message = "was not expected";
  } else if (const std::size_t space = message.find(' ');
             space != std::string::npos && message.compare(space, std::string::npos, kRequired) == 0) {
    error.field = message.substr(0, space);
    error.message = "is required";
  } else if (colon != std::string::npos && message.find(' ') > colon) {
    error.field = message.substr(0, colon);
    error.message = message.substr(colon + 2);
  } else {
    error.message = std::move(message);
  }
  return error;
}

int usage_error(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  if (e.get_exit_code() == 0) return checked(app.exit(e), wanted_output(argc, argv));  // --help, --version
  print_error(usage_of(e.what()), wanted_output(argc, argv));
  return static_cast<int>(Code::kUsage);
}

void add_version(CLI::App& root, Chosen& chosen) {
  CLI::App* sub = root.add_subcommand("version", "the version of this program");
  sub->footer("Example: comity version -o json");
  sub->callback([&chosen] {
    chosen.run = [](const Globals& globals) -> Status {
      if (globals.output == Output::kTable) {
        fmt::print("comity {}\n", COMITY_VERSION);
      } else {
        fmt::print("{}\n", JsonWriter()
                               .begin_object()
                               .field("schema", "comity.version/1")
                               .field("version", COMITY_VERSION)
                               .end_object()
                               .text());
      }
      return {};
    };
  });
}

int run(const Chosen& chosen) {
  const Output output = chosen.globals.output;
  try {
    const Status status = chosen.run(chosen.globals);
    if (!status) print_error(status.error(), output);
    return checked(status ? 0 : static_cast<int>(status.error().code), output);
  } catch (const std::system_error& e) {  // what fmt throws where printing fails
    return checked(0, output, e.code().value());
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  install_interrupt_handler();
  Chosen chosen;
  bool no_colour = false;
  CLI::App app{"Comity shares a GPU cluster fairly and plans what runs on it.", "comity"};
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.footer("Example: comity replay week.csv --nodes 64x8 --policy fifo,sing,easy");
  app.set_version_flag("--version", fmt::format("comity {}", COMITY_VERSION), "print the version and stop");
  add_globals(app, chosen.globals, no_colour);
  add_trace(app, chosen);
  add_replay(app, chosen);
  add_policy(app, chosen);
  add_placement(app, chosen);
  add_model(app, chosen);
  add_system(app, chosen);
  add_iteration(app, chosen);
  add_plan(app, chosen);
  add_bench(app, chosen);
  add_version(app, chosen);
  add_completion(app, chosen);
  check_options(app, chosen.folders);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e, argc, argv);
  }
  if (!chosen.run) {
    fmt::print(stderr, "{}", app.help());
    return static_cast<int>(Code::kUsage);
  }
  if (const Status status = check_out(app, chosen.folders); !status) {
    print_error(status.error(), chosen.globals.output);
    return static_cast<int>(status.error().code);
  }
  set_log_level(chosen.globals.quiet ? LogLevel::kError : chosen.globals.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  chosen.globals.colour = !no_colour && is_terminal(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr;
  return run(chosen);
}

}  // namespace comity::cli
