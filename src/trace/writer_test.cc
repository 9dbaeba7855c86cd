// SPDX-License-Identifier: Apache-2.0
#include "trace/writer.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "trace/test_files.h"

namespace comity::trace {
namespace {

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

// Everything of a row, names and lists spelt out.
std::string spell(const Trace& t, std::size_t i) {
  const Row& row = t.rows[i];
  const profile::JobRequest& r = row.request;
  profile::Attributes a;
  if (r.attributes != profile::kNoAttributes) a = t.attributes[r.attributes];
  std::ostringstream out;
  out << row.id << '|' << (t.text_ids.empty() ? "" : t.text_ids[i]) << '|' << row.submit << '|' << row.duration << '|'
      << row.wait << '|' << r.estimate << '|' << r.shape.nodes << 'x' << r.shape.gpus << '|' << name(t, r.user) << '|'
      << name(t, r.tenant) << '|' << name(t, r.group) << '|' << name(t, r.gpu_type);
  for (const auto member : profile::kAttributeNames) out << '|' << name(t, a.*member);
  for (std::uint32_t k = 0; k < a.deadlines.count; ++k) {
    const profile::Deadline& d = t.deadlines[a.deadlines.first + k];
    out << '|' << d.after << ':' << std::hexfloat << d.value << ':' << d.strict;
  }
  for (std::uint32_t k = 0; k < a.gpu_models.count; ++k) out << '|' << t.names[t.gpu_models[a.gpu_models.first + k]];
  out << '|' << a.batch_size << '|' << a.iterations << '|' << a.cpu_milli << '|' << a.gpu_milli << '|'
      << int{a.mixed_precision} << '|' << int{a.share} << std::hexfloat;
  for (const double real :
       {a.gpu_utilization, a.memory_mb, a.memory_utilization, a.host_memory_mb, a.speed, a.priority})
    out << '|' << real;
  return out.str();
}

void expect_same(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.rows.size(), b.rows.size());
  EXPECT_EQ(a.declared_gpus, b.declared_gpus);
  for (std::size_t i = 0; i < a.rows.size(); ++i) ASSERT_EQ(spell(a, i), spell(b, i)) << "row " << i;
}

TEST(Writer, Seconds) {
  const auto text = [](Time ns) {
    std::string out;
    append_seconds(out, ns);
    return out;
  };
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(1), "0.000000001");
  EXPECT_EQ(text(1'500'000'000), "1.5");
  EXPECT_EQ(text(kMaxTime), "2305843009.213693952");
}

TEST(Writer, RealTracesComeBackUnchanged) {
  for (const char* file : {"philly_week_20171001.csv",
                           "philly_week_cap2d_lucid.csv.gz",
                           "tiresias/60_job.csv",
                           "swf/NASA-iPSC-1993-3.1-cln.swf.gz",
                           "swf/lublin_256.swf.gz",
                           "swf/LCG.swf.gz",
                           "philly_82k.csv.gz",
                           "philly_week_cap2d_lucid_order.csv.gz",
                           "tiresias/philly480_tiresias.csv",
                           "hand6_tiresias.csv",
                           "chronus/trace_job_Philly_SLO.csv.gz",
                           "chronus/trace_job_Philly_MIX1.csv.gz",
                           "chronus/trace_job_Philly_MIX2.csv.gz",
                           "chronus/chr_Philly_SLO_400.csv",
                           "chronus/chr_Philly_MIX1_400.csv",
                           "chronus/chr_Philly_MIX2_400.csv",
                           "astraea_philly2d.csv",
                           "openb/openb_pod_list_default.csv.gz",
                           "openb/openb_pod_list_gpushare100.csv.gz",
                           "openb/openb_pod_list_gpuspec33.csv.gz",
                           "openb/openb_pod_list_multigpu50.csv.gz",
                           "sia/philly/workload-1.csv",
                           "sia/saturn/workload-1.csv",
                           "sia/newtrace/workload-1.csv",
                           "gavel/msr_seed0_0e4a51.trace.gz",
                           "gavel/physical_cluster/max_min_fairness.trace",
                           "gavel/physical_cluster/artifact_evaluation.trace"}) {
    const std::string path = shared_trace(file);
    COMITY_NEED_TRACE(path)
    const auto first = read_trace(path, {});
    ASSERT_TRUE(first) << first.error().text();
    const auto second = read_text(as_csv(*first));
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_EQ(second->format, "comity");
    SCOPED_TRACE(file);
    expect_same(*first, *second);
  }
}

profile::Shape any_shape() {
  return *rc::gen::inRange(0, 2) == 0 ? profile::Shape{0, static_cast<std::uint32_t>(*rc::gen::inRange(1, 1'000'001))}
                                      : profile::Shape{static_cast<std::uint32_t>(*rc::gen::inRange(1, 1000)),
                                                       static_cast<std::uint32_t>(*rc::gen::inRange(1, 1000))};
}

// Any text of a line's bytes, without blanks around it (those don't count).
std::string any_text() {
  std::string text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::erase(text, '\0');
  std::erase(text, '\n');
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  while (!text.empty() && blank(text.front())) text.erase(0, 1);
  return text;
}

// Names in a list have no bar, and none is empty.
profile::List any_models(Trace& trace) {
  const profile::List list = {.first = static_cast<std::uint32_t>(trace.gpu_models.size()),
                              .count = static_cast<std::uint32_t>(*rc::gen::inRange(0, 4))};
  for (std::uint32_t k = 0; k < list.count; ++k) {
    std::string text = any_text();
    std::erase(text, '|');
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.pop_back();
    trace.gpu_models.push_back(trace.names.intern("m" + text));
  }
  return list;
}

profile::List any_deadlines(Trace& trace) {
  const profile::List list = {.first = static_cast<std::uint32_t>(trace.deadlines.size()),
                              .count = static_cast<std::uint32_t>(*rc::gen::inRange(0, 5))};
  Time after = -1;
  for (std::uint32_t k = 0; k < list.count; ++k) {
    after += *rc::gen::inRange<Time>(1, kMaxTime / 8);
    trace.deadlines.push_back(
        {.after = after, .value = std::abs(*rc::gen::arbitrary<double>()), .strict = *rc::gen::arbitrary<bool>()});
  }
  return list;
}

profile::Attributes any_attributes(Trace& trace) {
  profile::Attributes a;
  for (const auto member : profile::kAttributeNames) {
    const std::string text = any_text();
    if (!text.empty()) a.*member = trace.names.intern(text);
  }
  const auto real = [] { return *rc::gen::arbitrary<bool>() ? -1 : std::abs(*rc::gen::arbitrary<double>()); };
  for (double* value :
       {&a.gpu_utilization, &a.memory_mb, &a.memory_utilization, &a.host_memory_mb, &a.speed, &a.priority})
    *value = real();
  for (std::int64_t* value : {&a.batch_size, &a.iterations, &a.cpu_milli})
    *value = *rc::gen::inRange<std::int64_t>(-1, 1LL << 60);
  a.gpu_milli = *rc::gen::arbitrary<bool>() ? std::int16_t{-1} : *rc::gen::inRange<std::int16_t>(1, 1001);
  a.mixed_precision = *rc::gen::inRange<std::int8_t>(-1, 2);
  a.share = *rc::gen::inRange<std::int8_t>(-1, 2);
  a.deadlines = any_deadlines(trace);
  a.gpu_models = any_models(trace);
  return a;
}

TEST(Writer, AnyTraceComesBackUnchanged) {
  EXPECT_TRUE(rc::check("a written trace reads back the same", [] {
    Trace trace;
    const auto count = *rc::gen::inRange<std::size_t>(1, 20);
    const bool named = *rc::gen::arbitrary<bool>();
    const auto any_name = [&] {
      const std::string text = any_text();
      return text.empty() ? profile::kNoName : trace.names.intern(text);
    };
    for (std::size_t i = 0; i < count; ++i) {
      Row row;
      row.id = static_cast<std::int64_t>(i * 3);
      row.submit = *rc::gen::inRange<Time>(0, kMaxTime);
      row.duration = *rc::gen::inRange<Time>(0, kMaxTime);
      row.wait = *rc::gen::inRange<Time>(-1, kMaxTime);
      row.request.estimate = *rc::gen::inRange<Time>(-1, kMaxTime);
      row.request.shape = any_shape();
      row.request.user = any_name();
      row.request.tenant = any_name();
      if (named) {
        row.request.attributes = static_cast<std::uint32_t>(trace.attributes.size());
        trace.attributes.push_back(any_attributes(trace));
      }
      trace.rows.push_back(row);
    }
    trace.declared_gpus = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 40);
    const auto back = read_text(as_csv(trace));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->declared_gpus == trace.declared_gpus);
    RC_ASSERT(back->rows.size() == trace.rows.size());
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(spell(trace, i) == spell(*back, i));
  }));
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(Writer, SwfAndBack) {
  const auto first = read_text(
      "job_id,submit_s,duration_s,nodes,gpus_per_node,user,tenant,estimate_s,wait_s\n"
      "5,0.4,59.5,2,4,ann,7,100,3\n9,7,0,1,1,bob,,,\n");
  ASSERT_TRUE(first) << first.error().text();
  const std::string path = testing::TempDir() + "comity_writer_test.swf";
  const auto status = write_trace(*first, "swf", path);
  ASSERT_TRUE(status) << status.error().text();
  const auto back = read_text(file_text(path));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->format, "swf");
  ASSERT_EQ(back->rows.size(), 2U);
  EXPECT_EQ(back->rows[0].id, 5);
  EXPECT_EQ(back->rows[0].submit, 0);
  EXPECT_EQ(back->rows[0].duration, 60 * kSecond);
  EXPECT_EQ(back->rows[0].request.shape.total(), 8U);
  EXPECT_EQ(back->rows[0].request.estimate, 100 * kSecond);
  EXPECT_EQ(back->rows[0].wait, 3 * kSecond);
  EXPECT_EQ(name(*back, back->rows[0].request.user), "1");    // ann, the first
  EXPECT_EQ(name(*back, back->rows[0].request.tenant), "7");  // a number already
  EXPECT_EQ(back->rows[1].request.tenant, profile::kNoName);
  EXPECT_NE(file_text(path).find("user 2 is bob"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(Writer, Errors) {
  Trace trace;
  EXPECT_EQ(write_trace(trace, "xlsx", "-").error().code, Code::kUsage);
  const auto status = write_trace(trace, "csv", "/no/such/folder/x.csv");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInput);
  EXPECT_EQ(status.error().file, "/no/such/folder/x.csv");
}

TEST(Swf, WhatItHasNoRoomForIsNamed) {
  const auto plain = read_text("job_id,submit_s,duration_s,gpus,vc\n1,0,10,1,a\n2,5,10,4,b\n");
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_TRUE(lost_in_swf(*plain).empty());
  const auto fraction = read_text("job_id,submit_s,duration_s,gpus,vc\n1,0.25,10,1,a\n");
  EXPECT_EQ(lost_in_swf(*fraction), std::vector<std::string>{"fractions of a second"});
  const auto all =
      read_text("job_id,submit_s,duration_s,nodes,gpus_per_node,gpu_type,group,name\nj-1,0,10.5,2,4,a100,main,train\n");
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(lost_in_swf(*all),
            (std::vector<std::string>{"fractions of a second", "GPUs per node", "GPU types", "resource groups",
                                      "ids that are no numbers", "names and other attributes of jobs"}));
}

}  // namespace
}  // namespace comity::trace
