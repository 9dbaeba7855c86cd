// SPDX-License-Identifier: Apache-2.0
#include "trace/anonymise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "trace/comity_columns.h"
#include "trace/stats.h"
#include "trace/test_files.h"
#include "trace/writer.h"

namespace comity::trace {
namespace {

Key key_of(unsigned byte) {
  const std::string digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 32; ++i) text += {digits[byte / 16 % 16], digits[byte % 16]};
  auto key = Key::parse(text);
  EXPECT_TRUE(key);
  return std::move(*key);
}

std::string as_csv(const Trace& trace) {
  std::string out;
  const CsvColumns columns = needed_columns(trace);
  append_csv_header(out, columns);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) append_csv_row(out, columns, trace, i);
  return out;
}

std::string name(const Trace& trace, std::uint32_t index) {
  return index == profile::kNoName ? "" : trace.names[index];
}

Trace sample() {
  auto trace = read_text(
      "job_id,submit_s,duration_s,gpus,user,tenant,group,gpu_type,estimate_s,wait_s,name,model,dataset,batch_size,"
      "iterations,gpu_utilization,memory_mb,class,status,command,directory,gpu_models,deadlines\n"
      "17,100.5,61,2,ann,lab,main,a100,100,3,secret-run,bert,wiki,32,1000,55.5,8000,slo,Pass,run secret.py,/home/ann,"
      "a100|h100,60:10:strict\n"
      "4,100.5,59,1,bob,ann,main,a100,,,,,,,,,,,,,,,\n"
      "5,50,10,4,ann,lab,main,v100,20,0,other-run,bert,wiki,64,,,,,,,,,\n");
  EXPECT_TRUE(trace) << trace.error().text();
  return std::move(*trace);
}

TEST(Anonymise, HashesWhatWasChosenAndNothingElse) {
  const Trace trace = sample();
  const auto done = anonymise(trace, key_of(1), {});
  ASSERT_TRUE(done) << done.error().text();
  const std::string csv = as_csv(done->trace);
  for (const char* text : {"ann", "bob", "lab", "secret", "other-run", "17", "home", ".py"})
    EXPECT_EQ(csv.find(text), std::string::npos) << text << " in\n" << csv;
  for (const char* text : {"main", "a100|h100", "v100", "bert", "wiki", "slo", "Pass", "60:10:strict"})
    EXPECT_NE(csv.find(text), std::string::npos);
  EXPECT_EQ(done->hashed, (std::vector<std::string>{"user", "tenant", "name"}));
  EXPECT_EQ(done->dropped, (std::vector<std::string>{"command", "directory"}));
  EXPECT_EQ(done->kept, (std::vector<std::string>{"group", "gpu_type", "model", "dataset", "class", "status",
                                                  "estimate", "wait", "batch_size", "iterations", "gpu_utilization",
                                                  "memory", "gpu_models", "deadlines"}));
  // In order of submission, then of the old id: 5, 4, 17.
  const Trace& t = done->trace;
  ASSERT_EQ(t.rows.size(), 3U);
  EXPECT_EQ(t.rows[0].duration, 10 * kSecond);
  EXPECT_EQ(t.rows[1].duration, 59 * kSecond);
  EXPECT_EQ(t.rows[2].duration, 61 * kSecond);
  EXPECT_EQ(t.rows[0].request.user, t.rows[2].request.user);
  // The user ann and the tenant ann have nothing in common any more.
  EXPECT_NE(name(t, t.rows[0].request.user), name(t, t.rows[1].request.tenant));
}

TEST(Anonymise, DropsRoundsAndShifts) {
  const Trace trace = sample();
  AnonymiseOptions options;
  options.hash = {};
  auto drop =
      parse_fields("all,class,status,wait,estimate,batch_size,iterations,gpu_utilization,memory,gpu_models,deadlines",
                   true, "--drop");
  ASSERT_TRUE(drop);
  options.drop = *drop;
  options.round_submit = 60 * kSecond;
  options.round_duration = 30 * kSecond;
  const auto done = anonymise(trace, key_of(1), options);
  ASSERT_TRUE(done);
  EXPECT_EQ(as_csv(done->trace),
            "job_id,submit_s,duration_s,gpus\n"
            "0,0,30,4\n1,60,60,1\n2,60,90,2\n");
  options.round_submit = options.round_duration = 0;
  options.shift_time = true;
  std::set<Time> shifts;
  for (const unsigned byte : {1U, 2U, 3U}) {
    const auto shifted = anonymise(trace, key_of(byte), options);
    ASSERT_TRUE(shifted);
    const Time shift = shifted->trace.rows[0].submit - 50 * kSecond;
    EXPECT_EQ(shifted->trace.rows[2].submit - 100'500 * kMillisecond, shift);
    EXPECT_EQ(shift % kSecond, 0);
    EXPECT_LT(shift, 10 * 365 * kDay);
    shifts.insert(shift);
    options.whole_weeks = true;
    const auto weeks = anonymise(trace, key_of(byte), options);
    ASSERT_TRUE(weeks);
    EXPECT_EQ((weeks->trace.rows[0].submit - 50 * kSecond) % (7 * kDay), 0);
    options.whole_weeks = false;
  }
  EXPECT_EQ(shifts.size(), 3U);
}

// What is new in Comity's CSV must not be given away unseen.
TEST(Anonymise, KnowsEveryColumn) {
  const std::set<Field> bare = {Field::kId,    Field::kSubmit,      Field::kDuration,      Field::kGpus,
                                Field::kNodes, Field::kGpusPerNode, Field::kDurationBasis, Field::kDeclaredGpus};
  const auto all = parse_fields(
      "all,class,status,estimate,wait,batch_size,iterations,gpu_utilization,memory,memory_utilization,speed,"
      "mixed_precision,gpu_milli,gpu_models,cpu_milli,host_memory,deadlines,priority,share",
      true, "--drop");
  ASSERT_TRUE(all) << all.error().text();
  std::set<Field> known(all->begin(), all->end());
  known.insert(bare.begin(), bare.end());
  for (const NamedColumn& column : kComityColumns) EXPECT_TRUE(known.contains(column.field)) << column.title;
}

TEST(Anonymise, GpuModelsGoWithGpuTypes) {
  const Trace trace = sample();
  AnonymiseOptions options;
  options.hash = {Field::kGpuType};
  const Key key = key_of(4);
  const auto done = anonymise(trace, key, options);
  ASSERT_TRUE(done);
  const std::string csv = as_csv(done->trace);
  EXPECT_NE(csv.find(key.pseudonym("gpu_type", "a100") + "|" + key.pseudonym("gpu_type", "h100")), std::string::npos);
  EXPECT_EQ(csv.find("a100"), std::string::npos);
}

TEST(Anonymise, IdsAreNumberedHashedOrKept) {
  Trace trace = sample();
  trace.text_ids = {"17", "j-4", "5"};
  AnonymiseOptions options;
  options.ids = Ids::kHash;
  const Key key = key_of(9);
  const auto hashed = anonymise(trace, key, options);
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->trace.text_ids, (std::vector<std::string>{key.pseudonym("id", "5"), key.pseudonym("id", "17"),
                                                              key.pseudonym("id", "j-4")}));
  options.ids = Ids::kKeep;
  const auto kept = anonymise(trace, key, options);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->trace.text_ids, trace.text_ids);
  trace.text_ids.clear();
  options.ids = Ids::kHash;
  const auto numbers = anonymise(trace, key, options);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->trace.text_ids[0], key.pseudonym("id", "5"));  // as in a file where the same id was text
}

// Jobs and GPU seconds of each name, without the names.
using Uses = std::multiset<std::pair<std::uint64_t, long long>>;
Uses uses(const std::vector<NameUse>& list) {
  Uses out;
  for (const NameUse& use : list) out.emplace(use.jobs, std::llround(use.gpu_hours * 3600));
  return out;
}

Trace any_trace(std::size_t names) {
  Trace trace;
  const auto jobs = *rc::gen::inRange<std::size_t>(1, 30);
  for (std::size_t i = 0; i < jobs; ++i) {
    Row row;
    row.id = static_cast<std::int64_t>(i);
    row.submit = *rc::gen::inRange<Time>(0, 100) * kSecond;
    row.duration = *rc::gen::inRange<Time>(0, 100) * kSecond;
    row.request.shape.gpus = *rc::gen::inRange(1U, 9U);
    row.request.user = trace.names.intern("user " + std::to_string(*rc::gen::inRange<std::size_t>(0, names)));
    row.request.tenant = trace.names.intern("tenant " + std::to_string(*rc::gen::inRange<std::size_t>(0, names)));
    trace.rows.push_back(row);
  }
  return trace;
}

std::set<std::string> users(const Trace& trace) {
  std::set<std::string> out;
  for (const Row& row : trace.rows) out.insert(name(trace, row.request.user));
  return out;
}

TEST(Anonymise, OneKeyKeepsJoinsAndAnotherBreaksThem) {
  EXPECT_TRUE(rc::check("files join under one key as they did, and not across keys", [] {
    const Trace a = any_trace(8);
    const Trace b = any_trace(8);
    const auto byte = *rc::gen::inRange(0U, 128U);
    const Key key = key_of(byte);
    const Key other = key_of(byte + 128);
    const auto x = anonymise(a, key, {});
    const auto y = anonymise(b, key, {});
    const auto z = anonymise(b, other, {});
    RC_ASSERT(x && y && z);
    const auto common = [](const std::set<std::string>& p, const std::set<std::string>& q) {
      return static_cast<std::size_t>(
          std::count_if(p.begin(), p.end(), [&](const std::string& s) { return q.contains(s); }));
    };
    RC_ASSERT(users(x->trace).size() == users(a).size());
    RC_ASSERT(common(users(x->trace), users(y->trace)) == common(users(a), users(b)));
    RC_ASSERT(common(users(x->trace), users(z->trace)) == 0U);
    // Which job belongs to whom stays too: who ran how many GPU hours, without the names.
    RC_ASSERT(uses(trace_stats(a).users) == uses(trace_stats(x->trace).users));
    RC_ASSERT(uses(trace_stats(b).tenants) == uses(trace_stats(z->trace).tenants));
  }));
}

TEST(Anonymise, RealTracesReadBack) {
  for (const char* file : {"philly_week_20171001.csv", "philly_week_cap2d_lucid.csv.gz", "swf/lublin_256.swf.gz",
                           "openb/openb_pod_list_default.csv.gz", "chronus/chr_Philly_MIX1_400.csv"}) {
    const std::string path = shared_trace(file);
    COMITY_NEED_TRACE(path)
    const auto trace = read_trace(path, {});
    ASSERT_TRUE(trace) << file;
    AnonymiseOptions options;
    options.ids = Ids::kHash;
    options.hash = *parse_fields("all", false, "--fields");
    options.drop = {};
    const auto done = anonymise(*trace, key_of(3), options);
    ASSERT_TRUE(done);
    const auto back = read_text(as_csv(done->trace));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->format, "comity");
    EXPECT_EQ(back->rows.size(), trace->rows.size());
    EXPECT_EQ(back->gpu_hours(), done->trace.gpu_hours());
    EXPECT_NEAR(back->gpu_hours(), trace->gpu_hours(), 1e-9 * trace->gpu_hours());
    EXPECT_EQ(uses(trace_stats(*back).tenants).size(), uses(trace_stats(*trace).tenants).size());
    const std::set<std::string> ids(back->text_ids.begin(), back->text_ids.end());
    EXPECT_EQ(ids.size(), trace->rows.size());
  }
}

TEST(Anonymise, Errors) {
  const auto unknown = parse_fields("user,tenent", false, "--fields");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_EQ(unknown.error().field, "--fields");
  EXPECT_NE(unknown.error().hint.find("tenant"), std::string::npos);
  EXPECT_FALSE(parse_fields("wait", false, "--fields"));
  EXPECT_TRUE(parse_fields("wait", true, "--drop"));
  const Trace trace = sample();
  AnonymiseOptions options;
  options.drop = {Field::kUser};
  EXPECT_EQ(anonymise(trace, key_of(1), options).error().code, Code::kUsage);
  options = {};
  options.round_duration = kMaxTime;
  EXPECT_TRUE(anonymise(trace, key_of(1), options));
  Trace late = sample();
  late.rows[0].submit = kMaxTime;
  options = {};
  options.shift_time = true;
  EXPECT_EQ(anonymise(late, key_of(1), options).error().code, Code::kInput);
}

}  // namespace
}  // namespace comity::trace
