// SPDX-License-Identifier: Apache-2.0
// Tenants, users and cells of a cluster file.
#include "cluster/spec.h"

#include <gtest/gtest.h>

namespace comity::cluster {
namespace {

Result<ClusterSpec> parse(const std::string& rest) {
  return parse_cluster("schema = \"comity.cluster/1\"\n[[nodes]]\ngpus = 8\n" + rest, "c.toml");
}
std::string field_of(const Result<ClusterSpec>& result) {
  if (result) return "accepted";
  const std::string& field = result.error().field;
  return field.substr(field.rfind('.') + 1);
}

TEST(Spec, ReadsTheTreeOfTenantsTheirCellsAndUsers) {
  const auto spec = parse(
      "[[tenants]]\nname = \"lab\"\nparent = \"physics\"\nshare = 2\npriority = -3\ncells = [\"4x8\", \"2x1:a100\"]\n"
      "[[tenants]]\nname = \"physics\"\n[[users]]\nname = \"ann\"\ntenant = \"lab\"\nshare = 3\n");
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  const TenantSpec& lab = spec->tenants[0];
  EXPECT_EQ(lab.parent, "physics");
  EXPECT_EQ(lab.priority, -3);
  ASSERT_EQ(lab.cells.size(), 2U);
  EXPECT_EQ(lab.cells[0].count, 4U);
  EXPECT_EQ(lab.cells[0].gpus, 8U);
  EXPECT_EQ(lab.cells[1].gpus, 1U);
  EXPECT_EQ(lab.cells[1].gpu_type, "a100");
  EXPECT_EQ(spec->users[0].share, 3);
}

TEST(Spec, RefusesCellsThatAreNotCountXGpus) {
  for (const char* cell : {"", "x", "4", "4x", "x8", "0x8", "4x0", "-1x8", "4x8:", "4x8 ", "4x99999999999", "4.5x8"})
    EXPECT_EQ(field_of(parse(std::string("[[tenants]]\nname = \"a\"\ncells = [\"") + cell + "\"]\n")), "cells") << cell;
}

TEST(Spec, RefusesTreesThatAreNone) {
  const auto tenant = [](const std::string& name, const std::string& parent) {
    return "[[tenants]]\nname = \"" + name + "\"\n" + (parent.empty() ? "" : "parent = \"" + parent + "\"\n");
  };
  EXPECT_EQ(field_of(parse(tenant("a", "b") + tenant("b", "c") + tenant("c", ""))), "accepted");
  EXPECT_EQ(field_of(parse(tenant("a", "a"))), "parent");
  EXPECT_EQ(field_of(parse(tenant("a", "b") + tenant("b", "c") + tenant("c", "b"))), "parent");
  EXPECT_EQ(field_of(parse(tenant("a", "b"))), "parent");
  EXPECT_EQ(field_of(parse(tenant("a", "") + tenant("a", ""))), "name");
  EXPECT_EQ(field_of(parse("[[users]]\nname = \"ann\"\ntenant = \"a\"\n")), "tenant");
  std::string many;
  for (int i = 0; i < 4097; ++i) many += tenant("t" + std::to_string(i), "");
  EXPECT_FALSE(parse(many).has_value());
}

TEST(Spec, RefusesNodesAndUsersThatStandTwice) {
  const std::string schema = "schema = \"comity.cluster/1\"\n";
  const auto node = [](const std::string& name, int count) {
    return "[[nodes]]\nname = \"" + name + "\"\ncount = " + std::to_string(count) + "\ngpus = 1\n";
  };
  EXPECT_TRUE(parse_cluster(schema + node("a", 2) + node("b", 1), "c.toml").has_value());
  const auto twice = parse_cluster(schema + node("a", 1) + node("a", 1), "c.toml");
  EXPECT_EQ(field_of(twice), "name");
  EXPECT_EQ(twice.error().file, "c.toml");
  EXPECT_EQ(twice.error().line, 7);
  EXPECT_EQ(field_of(parse_cluster(schema + node("a", 12) + node("a1", 2), "c.toml")), "name");  // a10, a11
  const std::string tenants = "[[tenants]]\nname = \"a\"\n[[tenants]]\nname = \"b\"\n";
  const auto user = [](const std::string& tenant) {
    return "[[users]]\nname = \"ann\"\ntenant = \"" + tenant + "\"\n";
  };
  EXPECT_EQ(field_of(parse(tenants + user("a") + user("b"))), "accepted");
  EXPECT_EQ(field_of(parse(tenants + user("a") + user("a"))), "name");
}

TEST(Spec, SlotsAreAllGpusOfTheNodeAndCountAsNodes) {
  const auto slots = [](const std::string& list, const std::string& count = "1") {
    return parse_cluster(
        "schema = \"comity.cluster/1\"\n[[nodes]]\ngpus = 8\ncount = " + count + "\nslots = " + list + "\n", "c.toml");
  };
  const auto whole = slots("[4, 2, 1, 1]", "3");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->nodes.size(), 12U);
  EXPECT_EQ(whole->gpus(), 24U);
  EXPECT_EQ(whole->nodes[11].line, 2);
  for (const char* list : {"[4]", "[4, 2, 1]", "[8, 1]"}) {
    const auto refused = slots(list);
    EXPECT_EQ(field_of(refused), "slots") << list;
    EXPECT_EQ(refused.error().line, 5);
  }
  const auto many = slots("[1, 1, 1, 1, 1, 1, 1, 1]", "125001");
  EXPECT_EQ(field_of(many), "count");
  EXPECT_EQ(many.error().file, "c.toml");
  EXPECT_EQ(many.error().line, 4);
  EXPECT_EQ(slots("[1, 1, 1, 1, 1, 1, 1, 1]", "125000")->nodes.size(), 1'000'000U);
}

}  // namespace
}  // namespace comity::cluster
