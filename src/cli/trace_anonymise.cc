// SPDX-License-Identifier: Apache-2.0
// comity trace anonymise. The key goes from its file to trace/key.h and nowhere else.
#include <algorithm>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/trace_verbs.h"
#include "trace/anonymise.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace comity::cli {
namespace {

struct AnonymiseArgs {
  trace::AnonymiseOptions options;
  trace::ReadOptions read;
  std::string in, out = "-";
  std::string key_file, new_key;
  std::string fields = "user,tenant,name", ids = "number";
  std::optional<std::string> drop;  // else what trace::AnonymiseOptions drops, but for what is to be hashed
  std::string round_submit, round_duration;
};

Status parse_step(const std::string& text, const char* option, Time& step) {
  if (text.empty()) return {};
  const auto length = parse_length(text);
  if (!length || *length == 0)
    return fail_option(option, fmt::format("'{}' is no length of time above 0", printable(text)),
                       "seconds, or 5m, 1h, 1d");
  step = *length;
  return {};
}

Status parse(AnonymiseArgs& args) {
  trace::AnonymiseOptions& o = args.options;
  if (args.key_file.empty() == args.new_key.empty())
    return fail_option("--key-file", args.key_file.empty() ? "which key?" : "and --new-key exclude each other",
                       "--new-key FILE makes one, --key-file FILE uses it again");
  auto fields = trace::parse_fields(args.fields, false, "--fields");
  if (!fields) return fail(std::move(fields.error()));
  const auto in = [](const std::vector<trace::Field>& list) {
    return [&list](trace::Field f) { return std::find(list.begin(), list.end(), f) != list.end(); };
  };
  if (args.drop) {
    auto drop = trace::parse_fields(*args.drop, true, "--drop");
    if (!drop) return fail(std::move(drop.error()));
    o.drop = std::move(*drop);
    std::erase_if(*fields, in(o.drop));  // who names a field in both means the stronger
  } else {
    std::erase_if(o.drop, in(*fields));
  }
  o.hash = std::move(*fields);
  o.ids = args.ids == "hash" ? trace::Ids::kHash : args.ids == "keep" ? trace::Ids::kKeep : trace::Ids::kNumber;
  if (o.whole_weeks && !o.shift_time) return fail_option("--whole-weeks", "changes nothing without --shift-time");
  if (Status status = parse_step(args.round_submit, "--round-submit", o.round_submit); !status) return status;
  return parse_step(args.round_duration, "--round-duration", o.round_duration);
}

Status run_anonymise(AnonymiseArgs& args, const Globals& globals) {
  if (Status status = parse(args); !status) return status;
  std::optional<trace::Key> key;
  if (!args.key_file.empty()) {
    Result<trace::Key> read = trace::Key::read(args.key_file);
    if (!read) return fail(std::move(read.error()));
    key.emplace(std::move(*read));
  }
  const Result<trace::Trace> trace = read_trace(args.in, args.read, globals);
  if (!trace) return fail(trace.error());
  if (!key) {
    Result<trace::Key> made = trace::Key::create(args.new_key);
    if (!made) return fail(std::move(made.error()));
    key.emplace(std::move(*made));
  }
  const Result<trace::Anonymised> done = trace::anonymise(*trace, *key, args.options);
  if (!done) return fail(done.error());
  if (Status status = trace::write_csv(done->trace, args.out); !status) return status;
  std::vector<std::string> same = {"sizes", args.options.shift_time ? "times (shifted)" : "times"};
  if (args.ids == "keep") same.emplace_back("ids");
  same.insert(same.end(), done->kept.begin(), done->kept.end());
  std::string text = fmt::format("{} jobs written", format_count(done->trace.rows.size()));
  if (!done->hashed.empty()) text += fmt::format("; hashed: {}", fmt::join(done->hashed, ", "));
  if (!done->dropped.empty()) text += fmt::format("; dropped: {}", fmt::join(done->dropped, ", "));
  log_other_rows(*trace);
  log_info(fmt::format("{}; as in the trace: {}", text, fmt::join(same, ", ")));
  return {};
}

}  // namespace

void add_trace_anonymise(CLI::App& trace, Chosen& chosen) {
  CLI::App* sub = trace.add_subcommand("anonymise", "a trace to give away: names become pseudonyms made with a key");
  sub->footer(
      "The same key gives the same pseudonyms in every file; without it nobody can undo or repeat them. Sizes, run "
      "times and rhythms stay, and can give away a user who is known by them: see docs/systems/anonymise.md.\n"
      "Example: comity trace anonymise week.csv public.csv --new-key site.key");
  auto args = std::make_shared<AnonymiseArgs>();
  sub->add_option("in", args->in, "the trace; - is standard input")->required()->option_text("IN");
  sub->add_option("out", args->out, "the Comity CSV to write; - (default) is standard output")->option_text("OUT");
  sub->add_option("--key-file", args->key_file, "the key to use: a file that only you may read")->option_text("FILE");
  sub->add_option("--new-key", args->new_key, "make a key, and write it to this file, which must not exist")
      ->option_text("FILE");
  sub->add_option(
         "--fields", args->fields,
         "what to hash: of user, tenant, group, gpu_type, name, model, dataset, command, directory, or all (default "
         "user,tenant,name,command,directory)")
      ->option_text("FIELD,...");
  sub->add_option("--ids", args->ids,
                  "number (default): jobs are numbered in order of submission; hash: ids can be joined with other "
                  "files; keep")
      ->check(CLI::IsMember({"number", "hash", "keep"}))
      ->option_text("HOW");
  sub->add_option("--drop", args->drop,
                  "what to leave out: any of these, and of class, status, estimate, wait, batch_size, iterations, "
                  "gpu_utilization, memory, memory_utilization, speed, mixed_precision, gpu_milli, gpu_models, "
                  "cpu_milli, host_memory, deadlines, priority, share (default command,directory)")
      ->option_text("FIELD,...");
  sub->add_flag("--shift-time", args->options.shift_time, "add a time below ten years, which the key determines");
  sub->add_flag("--whole-weeks", args->options.whole_weeks,
                "with --shift-time: shift by whole weeks, so that weekdays and hours stay");
  sub->add_option("--round-submit", args->round_submit, "submit times down to a multiple of this: 60, 5m, 1h")
      ->option_text("TIME");
  sub->add_option("--round-duration", args->round_duration, "run times, estimates and waits up to a multiple of this")
      ->option_text("TIME");
  add_read_options(sub, args->read);
  sub->callback(
      [args, &chosen] { chosen.run = [args](const Globals& globals) { return run_anonymise(*args, globals); }; });
}

}  // namespace comity::cli
