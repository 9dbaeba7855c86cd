// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/chakra.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstdlib>
#include <memory>

#include "workload/foreign/shared_data.h"
#include "workload/foreign/wire.h"

namespace comity::workload {
namespace {

Result<ChakraTrace> read_bytes(const std::string& bytes) {
  auto source = memory_source(bytes);
  if (!source) return fail(source.error());
  return read_chakra_from(**source, "memory");
}

std::string micro(const std::string& name) {
  return (shared_workload() / "astra-sim/examples/workload/microbenchmarks" / name).string();
}

// The one file that a public archive holds, unpacked into `folder`.
std::string unpacked(const char* archive, const char* member, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string command =
      "tar xzf '" + (shared_workload() / "chakra" / archive).string() + "' -C '" + folder.string() + "' " + member;
  return std::system(command.c_str()) == 0 ? (folder / member).string() : std::string();
}

std::filesystem::path temporary(const char* name) {
  return std::filesystem::path(testing::TempDir()) / (std::string("comity_chakra_") + name);
}

ChakraTrace small() {
  ChakraTrace t;
  t.version = "0.0.4";
  t.begin_node(1, NodeType::kCompute, "a");
  t.duration_us.back() = 7;
  t.add_boolean("is_cpu_op", false);
  t.begin_node(2, NodeType::kCollective, "b");
  t.add_data(1);
  t.add_data(9);
  t.add_ctrl(0);
  t.add_integer("comm_type", 0);
  t.add_integer("comm_size", 1048576);
  t.add_text("pg_name", "3");
  return t;
}

TEST(ChakraTest, PublicAllReduce) {
  COMITY_NEED_WORKLOADS();
  const std::string path = micro("all_reduce/8npus_1MB/all_reduce.0.et");
  EXPECT_EQ(bytes_of(path).size(), 81U);
  const auto trace = read_chakra(path);
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  EXPECT_EQ(trace->version, "0.0.4");
  ASSERT_EQ(trace->nodes(), 1U);
  EXPECT_EQ(trace->type[0], NodeType::kCollective);
  EXPECT_EQ(trace->integer(0, "comm_type"), 0);
  EXPECT_EQ(trace->integer(0, "comm_size"), 1048576);
  EXPECT_EQ(trace->boolean(0, "is_cpu_op"), false);
  EXPECT_FALSE(trace->integer(0, "pg_name").has_value());
}

TEST(ChakraTest, PublicRing) {
  COMITY_NEED_WORKLOADS();
  const auto files = shared_files("astra-sim/examples/system", ".et");
  ASSERT_EQ(files.size(), 8U);
  for (const std::string& file : files) {
    const auto trace = read_chakra(file);
    ASSERT_TRUE(trace.has_value()) << trace.error().text();
    const auto s = chakra_statistics(*trace, file);
    ASSERT_TRUE(s.has_value()) << s.error().text();
    EXPECT_EQ(s->by_type[5], 14U);
    EXPECT_EQ(s->by_type[6], 14U);
    EXPECT_EQ(s->by_type[4], 7U);
    EXPECT_EQ(s->dangling, 0U);
  }
}

// Canonical protobuf is what the public writers make, so that even the bytes come back.
TEST(ChakraTest, PublicFilesComeBackAsBytes) {
  COMITY_NEED_WORKLOADS();
  const auto files = shared_files("astra-sim", ".et");
  ASSERT_EQ(files.size(), 120U);
  for (const std::string& file : files) {
    const auto trace = read_chakra(file);
    ASSERT_TRUE(trace.has_value()) << trace.error().text();
    EXPECT_EQ(trace->unknown_fields, 0U) << file;
    EXPECT_EQ(write_chakra(*trace), bytes_of(file)) << file;
  }
}

TEST(ChakraTest, PublicPyTorchTrace) {
  COMITY_NEED_WORKLOADS();
  const auto folder = temporary("feeder");
  const std::string path = unpacked("feeder_tests_trace.tar.gz", "tests/data/chakra.0.et", folder);
  ASSERT_FALSE(path.empty());
  const std::string bytes = bytes_of(path);
  EXPECT_EQ(bytes.size(), 2978371U);
  const auto trace = read_chakra(path);
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  const auto s = chakra_statistics(*trace, path);
  ASSERT_TRUE(s.has_value()) << s.error().text();
  EXPECT_EQ(s->nodes, 3664U);
  EXPECT_EQ(s->by_type[4], 3643U);
  EXPECT_EQ(s->by_type[7], 21U);
  EXPECT_EQ(s->typed_collectives, 7U);
  EXPECT_EQ(s->duration_us, 381795U);
  EXPECT_EQ(s->ctrl + s->data, 185542U);
  EXPECT_EQ(s->dangling, 1277U);
  ASSERT_EQ(trace->metadata.size(), 5U);
  EXPECT_EQ(trace->strings[trace->metadata[0].name], "schema");
  EXPECT_EQ(trace->strings[trace->metadata[4].name], "finish_ts");
  const auto back = read_bytes(write_chakra(*trace));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, *trace);
  // Packed, it reads the same; and a file cut anywhere gives fewer nodes or says where it ends.
  const std::string packed = (folder / "copy.et.gz").string();
  ASSERT_TRUE(write_chakra_file(*trace, packed).has_value());
  const auto unzipped = read_chakra(packed);
  ASSERT_TRUE(unzipped.has_value()) << unzipped.error().text();
  EXPECT_EQ(*unzipped, *trace);
  cut_everywhere(bytes, 1, [&](const std::string& piece) {
    const auto got = read_bytes(piece);
    EXPECT_TRUE(got ? got->nodes() <= 3664 : !got.error().message.empty() && got.error().file == "memory");
  });
  std::filesystem::remove_all(folder);
}

TEST(ChakraTest, PublicJson) {
  COMITY_NEED_WORKLOADS();
  const auto folder = temporary("json");
  const std::string path = unpacked("json_trace.tar.gz", "jsonData/chakra.0.json", folder);
  ASSERT_FALSE(path.empty());
  const auto trace = read_chakra(path);
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  EXPECT_EQ(trace->nodes(), 3664U);
  const auto s = chakra_statistics(*trace, path);
  ASSERT_TRUE(s.has_value()) << s.error().text();
  EXPECT_EQ(s->by_type[7], 21U);
  EXPECT_EQ(s->typed_collectives, 0U);
  const auto back = read_bytes(write_chakra(*trace));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, *trace);
  cut_everywhere(bytes_of(path).substr(0, 40000), 2, [&](const std::string& piece) {
    const auto got = read_bytes(piece);
    EXPECT_TRUE(!got.has_value() && got.error().file == "memory") << piece.size();
  });
  std::filesystem::remove_all(folder);
}

TEST(ChakraTest, ArchivesAndForeignFilesAreRefused) {
  COMITY_NEED_WORKLOADS();
  const auto archive = read_chakra((shared_workload() / "chakra/feeder_tests_trace.tar.gz").string());
  ASSERT_FALSE(archive.has_value());
  EXPECT_NE(archive.error().text().find("unpack it"), std::string::npos);
  const auto folder = temporary("pytorch");
  const std::string path = unpacked("1.0.2-chakra.0.0.4.tgz", "1.0.2-chakra.0.0.4.json", folder);
  const auto pytorch = read_chakra(path);
  ASSERT_FALSE(pytorch.has_value());
  EXPECT_NE(pytorch.error().text().find("chakra_converter"), std::string::npos);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(read_bytes("").has_value());
  EXPECT_FALSE(read_bytes("hello, world").has_value());
}

TEST(ChakraTest, CutPublicFiles) {
  COMITY_NEED_WORKLOADS();
  for (const std::string& file : shared_files("astra-sim", ".et"))
    cut_everywhere(bytes_of(file), 3, [&](const std::string& piece) {
      const auto got = read_bytes(piece);
      EXPECT_TRUE(got || (!got.error().message.empty() && got.error().file == "memory"));
    });
}

TEST(ChakraTest, DanglingIsDropped) {
  const ChakraTrace t = small();
  const auto graph = chakra_graph(t, "memory");
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->dangling, 2U);
  EXPECT_EQ(graph->dangling_zero, 1U);
  EXPECT_EQ(graph->some_absent, (std::vector<std::uint64_t>{0, 9}));
  ASSERT_EQ(graph->parents_of(1).size(), 1U);
  EXPECT_EQ(graph->parents_of(1)[0], 0U);
  EXPECT_TRUE(graph->cycle.empty());
}

TEST(ChakraTest, CyclesAndTwinsAreReported) {
  ChakraTrace t;
  for (std::uint64_t i = 0; i < 5000; ++i) {  // deeper than a stack would like
    t.begin_node(i, NodeType::kCompute, "n");
    if (i > 0) t.add_data(i - 1);
  }
  EXPECT_TRUE(chakra_graph(t, "memory")->cycle.empty());
  t.begin_node(5000, NodeType::kCompute, "x");
  t.add_data(5001);
  t.begin_node(5001, NodeType::kCompute, "y");
  t.add_ctrl(5000);
  EXPECT_EQ(chakra_graph(t, "memory")->cycle, (std::vector<std::uint64_t>{5000, 5001}));
  EXPECT_TRUE(chakra_statistics(t, "memory")->cyclic);
  t.begin_node(7, NodeType::kCompute, "twin");
  const auto twin = chakra_graph(t, "memory");
  ASSERT_FALSE(twin.has_value());
  EXPECT_NE(twin.error().text().find("id 7"), std::string::npos);
}

TEST(ChakraTest, AnyWholeNumberWillDo) {
  ChakraTrace t;
  t.begin_node(1, NodeType::kCollective, "c");
  const auto add = [&](const char* name, std::uint8_t field, std::uint64_t bits) {
    const std::uint32_t number = t.strings.intern(name);
    t.add_attr({.name = number, .doc = 0, .text = 0, .field = field, .bits = bits});
  };
  for (const int field : {7, 9, 11, 13, 19, 21, 23, 25})
    add(std::to_string(field).c_str(), static_cast<std::uint8_t>(field), 42);
  add("zigzag", 15, 84);
  add("negative", 17, 83);
  add("double", 3, std::bit_cast<std::uint64_t>(42.0));
  add("half", 3, std::bit_cast<std::uint64_t>(42.5));
  add("float", 5, std::bit_cast<std::uint32_t>(42.0F));
  add("minus", 7, static_cast<std::uint64_t>(std::int64_t{-42}));
  add("minus32", 23, static_cast<std::uint32_t>(-42));
  add("huge", 13, ~std::uint64_t{0});
  t.add_text("digits", "42");
  t.add_text("word", "ring");
  const auto back = read_bytes(write_chakra(t));
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_EQ(*back, t);
  for (const char* name : {"7", "9", "11", "13", "19", "21", "23", "25", "zigzag", "double", "float", "digits"})
    EXPECT_EQ(back->integer(0, name), 42) << name;
  for (const char* name : {"minus", "minus32", "negative"}) EXPECT_EQ(back->integer(0, name), -42) << name;
  for (const char* name : {"half", "huge", "word", "absent"}) EXPECT_FALSE(back->integer(0, name).has_value()) << name;
  EXPECT_EQ(back->text(0, "7"), "42");
  EXPECT_EQ(back->text(0, "word"), "ring");
}

TEST(ChakraTest, DependenciesUnpackedAndNoMetadata) {
  std::string node;
  wire::put_tag(node, 1, wire::Kind::kVarint);
  wire::put_varint(node, 5);
  for (const std::uint64_t id : {3, 4}) {
    wire::put_tag(node, 5, wire::Kind::kVarint);
    wire::put_varint(node, id);
  }
  wire::put_tag(node, 99, wire::Kind::kVarint);  // of a newer schema
  wire::put_varint(node, 1);
  std::string file;
  wire::put_varint(file, node.size());
  file += node;
  const auto trace = read_bytes(file);
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  ASSERT_EQ(trace->nodes(), 1U);
  EXPECT_EQ(trace->data, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(trace->unknown_fields, 1U);
}

TEST(ChakraTest, Lists) {
  ChakraTrace t;
  t.begin_node(1, NodeType::kCollective, "c");
  std::string list;
  wire::put_bytes(list, 1, std::string("\1\0\1", 3));
  const std::uint32_t name = t.strings.intern("involved_dim");
  const std::uint32_t text = t.strings.intern(list);
  t.add_attr({.name = name, .doc = 0, .text = text, .field = 28, .bits = 0});
  EXPECT_EQ(t.booleans(0, "involved_dim"), (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(t.booleans(0, "other").has_value());
}

TEST(ChakraTest, ErrorsSayWhere) {
  std::string bytes = write_chakra(small());
  const auto cut = read_bytes(bytes.substr(0, bytes.size() - 1));
  ASSERT_FALSE(cut.has_value());
  EXPECT_NE(cut.error().text().find("memory: message 3 at byte"), std::string::npos) << cut.error().text();
  bytes.append("\xFF\xFF\xFF\xFF\xFF\xFF");
  const auto junk = read_bytes(bytes);
  ASSERT_FALSE(junk.has_value());
  EXPECT_NE(junk.error().text().find("message 4"), std::string::npos) << junk.error().text();
}

ChakraTrace any_trace() {
  const auto number = [](std::uint64_t high) { return *rc::gen::inRange<std::uint64_t>(0, high); };
  const auto word = [] { return *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'e')); };
  ChakraTrace t;
  t.version = word();
  for (std::uint64_t n = number(6); n > 0; --n) {
    t.begin_node(*rc::gen::arbitrary<std::uint64_t>(), static_cast<NodeType>(number(8)), word());
    t.start_us.back() = number(1000);
    t.duration_us.back() = number(1000);
    for (std::uint64_t i = number(3); i > 0; --i) t.add_ctrl(number(10));
    for (std::uint64_t i = number(3); i > 0; --i) t.add_data(*rc::gen::arbitrary<std::uint64_t>());
    if (number(2) == 1) {
      const std::string values = word();
      t.inputs.back() = {.values = t.strings.intern(values), .shapes = 0, .types = 0, .present = true};
    }
    for (std::uint64_t i = number(4); i > 0; --i) {
      const auto field = static_cast<std::uint8_t>(number(2) == 1 ? 3 + number(30) : 9);
      const bool is_text = field % 2 == 0 || field == 29 || field == 31;
      const bool narrow = field == 5 || field == 19 || field == 23;
      const std::uint64_t bits = *rc::gen::arbitrary<std::uint64_t>();
      const std::uint32_t name = t.strings.intern(word());
      const std::uint32_t text = is_text ? t.strings.intern(word()) : 0;
      t.add_attr({.name = name,
                  .doc = 0,
                  .text = text,
                  .field = field,
                  .bits = is_text  ? 0
                          : narrow ? bits & 0xFFFFFFFF
                                   : bits});
    }
  }
  return t;
}

RC_GTEST_PROP(ChakraProperty, ReadsBackEqual, ()) {
  const ChakraTrace t = any_trace();
  const std::string bytes = write_chakra(t);
  const auto back = read_bytes(bytes);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == t);
  RC_ASSERT(write_chakra(*back) == bytes);
}

RC_GTEST_PROP(ChakraProperty, BytesNeverHarm, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto got = read_bytes(bytes);
  if (!got) {
    RC_ASSERT(!got.error().message.empty());
    return;
  }
  const std::string again = write_chakra(*got);
  const auto back = read_bytes(again);
  RC_ASSERT(back.has_value());
  RC_ASSERT(write_chakra(*back) == again);
}

}  // namespace
}  // namespace comity::workload
