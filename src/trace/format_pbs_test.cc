// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/reader_checks.h"

namespace comity::trace {
namespace {

// PBS Professional: a gang, a job that is run again, one deleted while it waited, one without GPUs. Torque: GPUs in the
// node request, a host by name.
constexpr const char* kFile =
    "04/16/2025 09:00:00;L;license;floating license hour:0 day:0 month:0 max:0\n"
    "04/16/2025 09:23:33;Q;10.pbs;user=ann group=csg account=\"A 1\" project=p jobname=gang queue=main ctime=1000 "
    "qtime=1000 etime=0 Resource_List.ngpus=8\n"
    "04/16/2025 09:23:40;S;10.pbs;user=ann start=1100\n"
    "04/16/2025 10:19:48;E;10.pbs;user=ann group=csg account=\"A 1\" project=p jobname=gang queue=main ctime=1000 "
    "qtime=1000 etime=1040 start=1100 exec_host=n1/0*8+n2/1*8 exec_vnode=(n1:ncpus=8:ngpus=4)+(n2:ncpus=8:ngpus=4) "
    "Resource_List.ngpus=8 Resource_List.nodect=2 Resource_List.select=2:ncpus=8:ngpus=4 "
    "Resource_List.walltime=04:00:00 session=45951 end=4700 Exit_status=0 resources_used.walltime=00:59:00\n"
    "04/16/2025 10:19:50;R;11[3].pbs;user=bob group=csg jobname=again ctime=1000 qtime=1000 etime=1000 start=2000 "
    "exec_host=n1/0 Resource_List.ngpus=1 end=2100 Exit_status=0\n"
    "04/16/2025 10:19:51;E;11[3].pbs;user=bob group=csg jobname=again ctime=1000 qtime=2100 etime=2100 start=2200 "
    "exec_host=n1/0 Resource_List.ngpus=1 end=2500 Exit_status=0\n"
    "04/16/2025 10:19:52;D;12.pbs;requestor=bob@n0\n"
    "04/16/2025 10:19:53;E;12.pbs;user=bob ctime=1000 qtime=1000 etime=1000 start=0 end=1500 Resource_List.ngpus=4\n"
    "04/16/2025 10:19:54;E;13.pbs;user=bob ctime=1000 qtime=1000 etime=1000 start=1500 end=1600 Resource_List.ncpus=4\n"
    "04/16/2025 10:19:55;E;14.torque;user=eve group=phys jobname=t queue=q ctime=1000 qtime=1010 start=1500 "
    "exec_host=n1/0+n1/1+n2/0+n3/0 Resource_List.neednodes=2:ppn=2:gpus=2+n3:gpus=1 "
    "Resource_List.nodes=2:ppn=2:gpus=2+n3:gpus=1 "
    "Resource_List.walltime=60 end=1600\n"
    "04/16/2025 10:19:56;E;15.pbs;user=eve group=phys ctime=1000 start=1500 end=1500 "
    "Resource_List.select=2:ncpus=8:ngpus=2+1:ncpus=1\n";

TEST(Pbs, Fields) {
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->format, "pbs");
  EXPECT_EQ(trace->text_ids, (std::vector<std::string>{"10.pbs", "11[3].pbs", "14.torque", "15.pbs"}));
  const Row& gang = trace->rows[0];
  EXPECT_EQ(gang.submit, 1040 * kSecond);
  EXPECT_EQ(gang.duration, kHour);
  EXPECT_EQ(gang.wait, kMinute);
  EXPECT_EQ(gang.request.estimate, 4 * kHour);
  EXPECT_EQ(gang.request.shape, (profile::Shape{2, 4}));
  EXPECT_EQ(trace->names[gang.request.user], "ann");
  EXPECT_EQ(trace->names[gang.request.tenant], "A 1");
  EXPECT_EQ(trace->names[trace->attributes[gang.request.attributes].name], "gang");
  const Row& again = trace->rows[1];
  EXPECT_EQ(again.submit, 1000 * kSecond);
  EXPECT_EQ(again.duration, 400 * kSecond);
  EXPECT_EQ(again.wait, 1000 * kSecond);
  EXPECT_EQ(trace->names[again.request.tenant], "csg");
  const Row& torque = trace->rows[2];
  EXPECT_EQ(torque.submit, 1010 * kSecond);
  EXPECT_EQ(torque.request.shape, (profile::Shape{0, 5}));  // 5 GPUs on 3 hosts
  EXPECT_EQ(torque.request.estimate, kMinute);
  const Row& select = trace->rows[3];
  EXPECT_EQ(select.request.shape, (profile::Shape{0, 4}));
  EXPECT_EQ(select.duration, 0);
}

TEST(Pbs, OtherRecordsAreCounted) {
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(other_rows(*trace, "a record Q (queued)"), 1U);
  EXPECT_EQ(other_rows(*trace, "a record S (started)"), 1U);
  EXPECT_EQ(other_rows(*trace, "a record D (deleted)"), 1U);
  EXPECT_EQ(other_rows(*trace, "a record of another type"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job that never started"), 1U);
  EXPECT_EQ(other_rows(*trace, "a job without GPUs"), 1U);
  EXPECT_EQ(other_rows(*trace, "a further run of a job, added to its first"), 1U);
}

TEST(Pbs, CutAndConverted) {
  expect_rows_or_a_line_when_cut(kFile, "");
  expect_rows_or_a_line_when_cut(kFile, "pbs");
  const auto trace = read_text(kFile);
  ASSERT_TRUE(trace);
  expect_csv_loses_nothing(*trace);
}

TEST(Pbs, BadLines) {
  const std::string good = "04/16/2025 10:19:48;E;1.s;ctime=1 start=2 end=3 Resource_List.ngpus=1\n";
  struct Bad {
    const char* line;
    const char* field;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"no record", ""},
           {"04/16/2025 10:19:48;EE;2.s;ctime=1", ""},
           {"04/16/2025 10:19:48;E;2.s;ctime=1 start=2 end=1 Resource_List.ngpus=1", "end"},
           {"04/16/2025 10:19:48;E;2.s;ctime=1 start=x end=1 Resource_List.ngpus=1", "start"},
           {"04/16/2025 10:19:48;E;2.s;ctime=x start=1 end=1 Resource_List.ngpus=1", "ctime"},
           {"04/16/2025 10:19:48;E;2.s;start=1 end=1 Resource_List.ngpus=1", "ctime"},
           {"04/16/2025 10:19:48;E;2.s;ctime=1 start=1 end=1 Resource_List.ngpus=-1", "Resource_List.ngpus"},
           {"04/16/2025 10:19:48;E;2.s;ctime=1 start=1 end=1 Resource_List.nodes=1:gpus=x", "Resource_List.nodes"},
           {"04/16/2025 10:19:48;E;2.s;ctime=1 start=1 end=1 Resource_List.select=9999:ngpus=9999",
            "Resource_List.select"},
           {"04/16/2025 10:19:48;E;2.s;ctime=1 start=1 end=1 Resource_List.ngpus=1 Resource_List.walltime=long",
            "Resource_List.walltime"},
           {"04/16/2025 10:19:48;E;;ctime=1 start=1 end=1 Resource_List.ngpus=1", "job id"}}) {
    const auto trace = read_text(good + bad.line + "\n");
    ASSERT_FALSE(trace) << bad.line;
    EXPECT_EQ(trace.error().line, 2) << trace.error().text();
    EXPECT_EQ(trace.error().field, bad.field) << trace.error().text();
  }
}

}  // namespace
}  // namespace comity::trace
