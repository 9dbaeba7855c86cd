// SPDX-License-Identifier: Apache-2.0
// The formats of public traces on files by hand, line by line what each column becomes. Helios, ACME and PAI have no
// original at hand: their lines are the examples of the documents that come with them.
#include <gtest/gtest.h>

#include "base/calendar.h"
#include "trace/record.h"
#include "trace/test_files.h"

namespace comity::trace {
namespace {

std::string name(const Trace& trace, std::uint32_t index) {
  return index == profile::kNoName ? "" : trace.names[index];
}
const profile::Attributes& attributes(const Trace& trace, std::size_t row) {
  return trace.attributes.at(trace.rows.at(row).request.attributes);
}
std::string models(const Trace& trace, std::size_t row) {
  std::string text;
  const profile::List list = attributes(trace, row).gpu_models;
  for (std::uint32_t i = 0; i < list.count; ++i) text += trace.names[trace.gpu_models[list.first + i]] + " ";
  return text;
}

#define ASSERT_READ(trace, format_name)         \
  ASSERT_TRUE(trace) << (trace).error().text(); \
  EXPECT_EQ((trace)->format, format_name);      \
  EXPECT_EQ((trace)->skipped_lines, 0U)

void expect_other(const Trace& trace, const std::string& reason, std::uint64_t count) {
  for (const OtherRows& rows : trace.other_rows) {
    if (rows.reason == reason) {
      EXPECT_EQ(rows.count, count) << reason;
      return;
    }
  }
  FAIL() << "no other rows " << reason;
}

TEST(Helios, ColumnsOfItsReadme) {
  const auto trace = read_text(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
      "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
      "1425512,uVMrF,vchbv,16,64,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:37,2020-06-09 18:45:36,239,10\n"
      "1425513,uzqls,vcpDC,0,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0\n"
      "1425514,uzqls,vcpDC,7,14,2,TIMEOUT,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0\n");
  ASSERT_READ(trace, "helios");
  ASSERT_EQ(trace->rows.size(), 3U);
  expect_other(*trace, "without a GPU", 1);
  const Row& a = trace->rows[0];
  EXPECT_EQ(a.id, 1'425'511);
  EXPECT_EQ(a.submit, parse_date_time("2020-06-09 18:41:01"));
  EXPECT_EQ(a.duration, 36'848 * kSecond);
  EXPECT_EQ(a.wait, 0);
  EXPECT_EQ(a.request.shape, (profile::Shape{1, 1}));
  EXPECT_EQ(name(*trace, a.request.user), "uXBbc");
  EXPECT_EQ(name(*trace, a.request.tenant), "vcJkd");
  EXPECT_EQ(attributes(*trace, 0).cpu_milli, 1000);
  EXPECT_EQ(name(*trace, attributes(*trace, 0).status), "COMPLETED");
  EXPECT_EQ(trace->rows[1].request.shape, (profile::Shape{2, 8}));
  EXPECT_EQ(trace->rows[1].wait, 10 * kSecond);
  EXPECT_EQ(trace->rows[2].request.shape, (profile::Shape{0, 7}));  // 7 GPUs on 2 nodes: not evenly
}

TEST(Acme, SerenAndKalosAsInItsReadme) {
  const auto seren = read_text(
      "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
      "5778432,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
      "2023-03-01 00:20:51+08:00,117,32,936.0\n"
      "5778433,u5907,1,0,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
      "2023-03-01 00:20:51+08:00,117,32,0.0\n");
  ASSERT_READ(seren, "acme");
  ASSERT_EQ(seren->rows.size(), 1U);
  expect_other(*seren, "without a GPU", 1);
  EXPECT_EQ(seren->rows[0].submit, parse_date_time("2023-02-28 16:18:22"));
  EXPECT_EQ(seren->rows[0].duration, 117 * kSecond);
  EXPECT_EQ(seren->rows[0].wait, 32 * kSecond);
  EXPECT_EQ(seren->rows[0].request.shape, (profile::Shape{1, 8}));
  EXPECT_EQ(name(*seren, attributes(*seren, 0).job_class), "Other");

  const auto kalos = read_text(
      "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,"
      "end_time,fail_time,stop_time,duration,queue,gpu_time\n"
      "dlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
      "2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"
      "dlcnone,uf794,8,64,960,1000,100.0,Other,RUNNING,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,,,,,10.0,\n"
      "dlcwait,uf794,8,64,960,1000,100.0,Other,PENDING,2023-05-17 11:00:58+00:00,,,,,,,\n");
  ASSERT_READ(kalos, "acme");
  ASSERT_EQ(kalos->rows.size(), 1U);
  expect_other(*kalos, "not ended when the log was taken", 1);
  expect_other(*kalos, "not started when the log was taken", 1);
  // Its column says 18: from the submission. The job ran 8 s.
  EXPECT_EQ(kalos->rows[0].duration, 8 * kSecond);
  EXPECT_EQ(kalos->rows[0].wait, 10 * kSecond);
  EXPECT_EQ(kalos->rows[0].request.shape, (profile::Shape{8, 8}));
  EXPECT_EQ(attributes(*kalos, 0).host_memory_mb, 8 * 1000 * 1024.0);
  EXPECT_EQ(kalos->text_ids, std::vector<std::string>{"dlctk696s0jbvitv"});
}

TEST(Pai, JobListOfItsSimulator) {
  const auto trace = read_text(
      "job_id,num_inst,submit_time,num_cpu,num_gpu,gpu_type,duration,user,wait_time,user_dur\n"
      "7,1,100,6.0,0.25,T4,3600,a,12.5,99.1\n"
      "8,4,120,12,2.5,MISC,60,b,0,1\n"
      "9,1,130,4,0,CPU,5,c,0,1\n");
  ASSERT_READ(trace, "pai");
  ASSERT_EQ(trace->rows.size(), 2U);
  expect_other(*trace, "without a GPU", 1);
  EXPECT_EQ(trace->rows[0].request.shape.total(), 1U);
  EXPECT_EQ(attributes(*trace, 0).gpu_milli, 250);
  EXPECT_EQ(attributes(*trace, 0).cpu_milli, 6000);
  EXPECT_EQ(trace->rows[0].wait, 12'500'000'000);
  EXPECT_EQ(models(*trace, 0), "T4 ");
  EXPECT_EQ(trace->rows[1].request.shape.total(), 3U);  // 2.5 GPUs: 3 of 833 thousandths
  EXPECT_EQ(attributes(*trace, 1).gpu_milli, 833);
  EXPECT_EQ(trace->ignored_columns, (std::vector<std::string>{"num_inst", "user_dur"}));
}

TEST(Pai, TaskTable) {
  const std::string lines =
      "4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n"
      "aa,worker,4.0,Failed,1739162.0,1739300.0,600.0,29.296875,200.0,V100\n"
      "aa,ps,1.0,Running,1739162.0,,600.0,29.296875,,\n"
      "bb,worker,1.0,Running,1739162.0,,600.0,29.296875,100.0,V100\n"
      "cc,worker,1.0,Waiting,,,600.0,29.296875,100.0,V100\n";
  const std::string header =
      "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n";
  for (const std::string& text : {lines, header + lines}) {
    const auto trace = read_text(text);
    ASSERT_READ(trace, "pai");
    ASSERT_EQ(trace->rows.size(), 2U);
    expect_other(*trace, "without a GPU", 1);
    expect_other(*trace, "not ended when the log was taken", 1);
    expect_other(*trace, "not started when the log was taken", 1);
    EXPECT_EQ(trace->rows[0].submit, 1'739'162 * kSecond);
    EXPECT_EQ(trace->rows[0].duration, 38 * kSecond);
    EXPECT_EQ(attributes(*trace, 0).gpu_milli, 500);
    EXPECT_EQ(name(*trace, attributes(*trace, 0).name), "4f057009a5d481acec67b088");
    EXPECT_EQ(trace->rows[1].request.shape.total(), 8U);
    EXPECT_EQ(attributes(*trace, 1).gpu_milli, 1000);
    EXPECT_EQ(attributes(*trace, 1).cpu_milli, 24'000);
    EXPECT_DOUBLE_EQ(attributes(*trace, 1).host_memory_mb, 4 * 29.296875 * 1024);
  }
}

TEST(Openb, SharesConstraintsAndPodsThatNeverRan) {
  const auto trace = read_text(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
      "openb-pod-0022,4000,15258,1,220,,BE,Running,9679175,9973826,9679180\n"
      "openb-pod-0035,16000,32768,1,1000,V100M16|V100M32,LS,Running,9967058,9968575,9967063\n"
      "openb-pod-0061,11908,47104,8,1000,,BE,Pending,10001278,10001403,\n"
      "openb-pod-0062,11908,47104,0,0,,BE,Pending,10001278,10001403,\n");
  ASSERT_READ(trace, "openb");
  ASSERT_EQ(trace->rows.size(), 3U);
  expect_other(*trace, "without a GPU", 1);
  EXPECT_EQ(trace->rows[0].submit, 9'679'175 * kSecond);
  EXPECT_EQ(trace->rows[0].wait, 5 * kSecond);
  EXPECT_EQ(trace->rows[0].duration, (9'973'826 - 9'679'180) * kSecond);
  EXPECT_EQ(trace->rows[0].request.shape, (profile::Shape{0, 1}));
  EXPECT_EQ(attributes(*trace, 0).gpu_milli, 220);
  EXPECT_EQ(attributes(*trace, 0).cpu_milli, 4000);
  EXPECT_EQ(attributes(*trace, 0).host_memory_mb, 15'258);
  EXPECT_EQ(models(*trace, 0), "");
  EXPECT_EQ(models(*trace, 1), "V100M16 V100M32 ");
  EXPECT_EQ(trace->rows[1].request.gpu_type, profile::kNoName);
  EXPECT_EQ(trace->rows[2].wait, -1);
  EXPECT_EQ(trace->rows[2].duration, 125 * kSecond);
  EXPECT_EQ(name(*trace, attributes(*trace, 2).duration_basis), kNeverScheduled);
  EXPECT_TRUE(need_durations(*trace));
}

TEST(Openb, WithoutTimesItIsAListAndNoTraceToReplay) {
  const auto trace = read_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1,1,1000\nb,1000,1,1,30\n");
  ASSERT_READ(trace, "openb");
  EXPECT_EQ(trace->rows.size(), 2U);
  const Status status = need_durations(*trace);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInput);
  EXPECT_NE(status.error().message.find("2 of its 2 jobs"), std::string::npos);
}

TEST(Chronus, MinutesAndDeadlines) {
  const auto trace = read_text(
      "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,"
      "best_effort,job_type\n"
      "0,vc_ed69ec,1,5601,5530,mobilenet_v2,96,5,159-189-229-289,10-8-5-2,0,soft\n"
      "1,vc_6214e9,1,7505,760,alexnet,106,6,235,10,0,strict\n"
      "2,vc_ee9e8c,0,14341,3621,alexnet,30,17,235,10,0,strict\n"
      "3,vc_ee9e8c,1,14341,3621,alexnet,30,17,14341,10,1,best\n");
  ASSERT_READ(trace, "chronus");
  ASSERT_EQ(trace->rows.size(), 3U);
  expect_other(*trace, "without a GPU", 1);
  EXPECT_EQ(trace->rows[0].submit, 5601 * kMinute);
  EXPECT_EQ(trace->rows[0].duration, 96 * kMinute);
  const profile::List soft = attributes(*trace, 0).deadlines;
  ASSERT_EQ(soft.count, 4U);
  const auto* d = &trace->deadlines[soft.first];
  EXPECT_EQ(d[0], (profile::Deadline{159 * kMinute, 10, false}));
  EXPECT_EQ(d[3], (profile::Deadline{289 * kMinute, 2, false}));
  const profile::List strict = attributes(*trace, 1).deadlines;
  ASSERT_EQ(strict.count, 1U);
  EXPECT_EQ(trace->deadlines[strict.first], (profile::Deadline{235 * kMinute, 10, true}));
  EXPECT_EQ(name(*trace, attributes(*trace, 1).job_class), "slo");
  EXPECT_EQ(name(*trace, attributes(*trace, 2).job_class), "best_effort");
  EXPECT_EQ(attributes(*trace, 2).deadlines.count, 0U);
  EXPECT_EQ(name(*trace, trace->rows[2].request.tenant), "vc_ee9e8c");
}

TEST(Astraea, UserIsTheTenant) {
  const auto trace = read_text(
      "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time\n"
      "0,11cb48,2,1191,100,resnet50,62,1,0\n1,9f,0,1,100,resnet50,62,1,0\n");
  ASSERT_READ(trace, "astraea");
  ASSERT_EQ(trace->rows.size(), 1U);
  EXPECT_EQ(trace->rows[0].submit, 1191 * kSecond);
  EXPECT_EQ(trace->rows[0].duration, 62 * kSecond);
  EXPECT_EQ(name(*trace, trace->rows[0].request.tenant), "11cb48");
  EXPECT_EQ(attributes(*trace, 0).iterations, 100);
}

TEST(Sia, RunTimesOfItsProfile) {
  const auto trace = read_text("name,time,application,num_replicas,batch_size\nbert-0,487.661836,bert,12,384\n");
  ASSERT_READ(trace, "sia");
  EXPECT_EQ(trace->text_ids, std::vector<std::string>{"bert-0"});
  EXPECT_EQ(trace->rows[0].submit, 487'661'836'000);
  EXPECT_EQ(trace->rows[0].request.shape, (profile::Shape{0, 12}));
  // 480 iterations of 0.896128 s with synchronisation and twice the time without it.
  EXPECT_NEAR(to_seconds(trace->rows[0].duration), 480 * (0.896128 + 2 * (0.896128 - 0.513036)), 0.001);
  EXPECT_EQ(name(*trace, attributes(*trace, 0).duration_basis), "Sia's profile on rtx");
  const auto unknown = read_text("name,time,application,num_replicas,batch_size\nbert-0,1,bert,13,384\n");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().line, 2);
  EXPECT_EQ(unknown.error().field, "application");
}

TEST(Gavel, TenNineAndSevenFields) {
  const std::string ten =
      "ResNet-18 (batch size 32)\tpython3 main.py\timage_classification\t--num_steps\t1\t347387\t2\t1.5\t-1.000000\t7\n"
      "A3C\tpython3 main.py\trl\t--max-steps\t0\t1000\t1\t1\t2.0\t9.5\n";
  const auto trace = read_text(ten);
  ASSERT_READ(trace, "gavel");
  ASSERT_EQ(trace->rows.size(), 2U);
  EXPECT_EQ(trace->rows[0].submit, 7 * kSecond);
  EXPECT_EQ(trace->rows[0].request.shape, (profile::Shape{0, 2}));
  EXPECT_NEAR(to_seconds(trace->rows[0].duration), 347'387 / 94.24893164660543, 1e-5);
  const profile::Attributes& a = attributes(*trace, 0);
  EXPECT_EQ(name(*trace, a.model), "ResNet-18");
  EXPECT_EQ(a.batch_size, 32);
  EXPECT_EQ(a.iterations, 347'387);
  EXPECT_EQ(a.priority, 1.5);
  EXPECT_EQ(name(*trace, a.command), "python3 main.py");
  EXPECT_EQ(name(*trace, a.directory), "image_classification");
  EXPECT_EQ(a.deadlines.count, 0U);
  EXPECT_EQ(name(*trace, a.duration_basis), "steps at Gavel's rate on V100");
  const profile::Attributes& b = attributes(*trace, 1);
  EXPECT_EQ(b.batch_size, -1);
  ASSERT_EQ(b.deadlines.count, 1U);
  EXPECT_NEAR(to_seconds(trace->deadlines[b.deadlines.first].after), 2 * to_seconds(trace->rows[1].duration), 1e-8);
  EXPECT_EQ(name(*trace, b.job_class), "slo");

  const auto nine = read_text("A3C\tpython3 main.py\t--max-steps\t0\t1000\t1\t2\t-1\t9.5\n");
  ASSERT_READ(nine, "gavel");
  EXPECT_EQ(nine->rows[0].submit, 9'500'000'000);
  EXPECT_EQ(nine->rows[0].duration, trace->rows[1].duration);

  const auto seven = read_text("A3C\tpython3 main.py\t--max-steps\t0\t1000\t9.5\t4\n");
  ASSERT_READ(seven, "gavel");
  EXPECT_EQ(seven->rows[0].request.shape, (profile::Shape{0, 4}));
  EXPECT_NEAR(to_seconds(seven->rows[0].duration), 1000 / 8.23303, 1e-3);
}

TEST(Gavel, NoRateNoJob) {
  const auto unknown = read_text("GPT-3\tpython3\td\t-n\t0\t1000\t1\t1\t-1\t9\n");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().line, 1);
  const auto three = read_text(
      "A3C\tpython3\td\t-n\t0\t1000\t1\t1\t-1\t9\n"
      "A3C\tpython3\td\t-n\t0\t1000\t3\t1\t-1\t9\n");
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().line, 2);
  EXPECT_EQ(three.error().field, "scale factor");
}

struct BadPublicLine {
  const char* name;
  const char* header;
  const char* good;
  const char* bad;
  const char* field;
};

constexpr const char* kChronusHeader =
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,"
    "best_effort,job_type";
constexpr const char* kOpenbHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time";
constexpr const char* kHeliosHeader =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue";
constexpr const char* kChronusGood = "0,a,1,1,1,m,9,5,15,10,0,strict";
constexpr const char* kOpenbGood = "p,1,1,1,5,,BE,Running,1,9,2";
constexpr const char* kHeliosGood = "1,u,v,1,1,1,OK,2020-06-09 18:41:01,,,5,0";

class BadPublicLines : public testing::TestWithParam<BadPublicLine> {};

TEST_P(BadPublicLines, NameLineAndColumn) {
  const BadPublicLine& c = GetParam();
  const std::string text = std::string(c.header) + "\n" + c.good + "\n" + c.bad + "\n";
  const auto strict = read_text(text);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, Code::kInput);
  EXPECT_EQ(strict.error().line, 3) << strict.error().text();
  EXPECT_EQ(strict.error().field, c.field) << strict.error().text();
  ReadOptions skip;
  skip.skip_bad = true;
  const auto lenient = read_text(text, skip);
  ASSERT_TRUE(lenient) << lenient.error().text();
  EXPECT_EQ(lenient->rows.size(), 1U);
  EXPECT_EQ(lenient->skipped_lines, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPublicLines,
    testing::Values(
        BadPublicLine{"chronus_lists", kChronusHeader, kChronusGood, "1,a,1,1,1,m,9,5,15-20,10,0,soft",
                      "expect_value_list"},
        BadPublicLine{"chronus_falling", kChronusHeader, kChronusGood, "1,a,1,1,1,m,9,5,20-15,10-5,0,soft",
                      "deadlines"},
        BadPublicLine{"chronus_type", kChronusHeader, kChronusGood, "1,a,1,1,1,m,9,5,15,10,0,hard", "job_type"},
        BadPublicLine{"chronus_contradicts", kChronusHeader, kChronusGood, "1,a,1,1,1,m,9,5,15,10,1,strict",
                      "best_effort"},
        BadPublicLine{"chronus_time", kChronusHeader, kChronusGood, "1,a,1,99999999999,1,m,9,5,15,10,0,strict",
                      "submit_time"},
        BadPublicLine{"chronus_short", kChronusHeader, kChronusGood, "1,a,1,1,1,m,9", "interval"},
        BadPublicLine{"openb_share", kOpenbHeader, kOpenbGood, "q,1,1,1,1001,,BE,Running,1,9,2", "gpu_milli"},
        BadPublicLine{"openb_several_shares", kOpenbHeader, kOpenbGood, "q,1,1,2,500,,BE,Running,1,9,2", "gpu_milli"},
        BadPublicLine{"openb_backwards", kOpenbHeader, kOpenbGood, "q,1,1,1,5,,BE,Running,5,4,", "deletion_time"},
        BadPublicLine{"openb_too_early", kOpenbHeader, kOpenbGood, "q,1,1,1,5,,BE,Running,5,9,4", "scheduled_time"},
        BadPublicLine{"openb_spec", kOpenbHeader, kOpenbGood, "q,1,1,1,5,A||B,BE,Running,1,9,2", "gpu_spec"},
        BadPublicLine{"openb_gpus", kOpenbHeader, kOpenbGood, "q,1,1,one,5,,BE,Running,1,9,2", "num_gpu"},
        BadPublicLine{"openb_twice", kOpenbHeader, kOpenbGood, "p,1,1,1,5,,BE,Running,1,9,2", "job_id"},
        BadPublicLine{"helios_date", kHeliosHeader, kHeliosGood, "2,u,v,1,1,1,OK,2020-06-31 18:41:01,,,5,0",
                      "submit_time"},
        BadPublicLine{"helios_duration", kHeliosHeader, kHeliosGood, "2,u,v,1,1,1,OK,2020-06-30 18:41:01,,,,0",
                      "duration"},
        BadPublicLine{"helios_cpus", kHeliosHeader, kHeliosGood, "2,u,v,1,-1,1,OK,2020-06-30 18:41:01,,,5,0",
                      "cpu_num"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PublicFormats, EachTakesOnlyItsOwn) {
  // Chronus' columns are Tiresias' and more: no format with a header may take another's file.
  const std::pair<const char*, const char*> heads[] = {
      {"tiresias", "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,1,m,5,1\n"},
      {"philly", "job_id,submit_s,duration_s,gpus,vc\n0,0,1,1,a\n"},
      {"comity", "job_id,submit_s,duration_s,gpus\n0,0,1,1\n"},
      {"sia", "name,time,application,num_replicas,batch_size\nb,1,bert,12,384\n"}};
  for (const auto& [format, text] : heads) {
    const auto trace = read_text(text);
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_EQ(trace->format, format);
  }
}

}  // namespace
}  // namespace comity::trace
