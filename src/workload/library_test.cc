// SPDX-License-Identifier: Apache-2.0
#include "workload/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/input.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::workload {
namespace {

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("data/" + folder))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Library, HoldsTheFilesOfTheFolders) {
  EXPECT_EQ(model_names(), files_of("models"));
  EXPECT_EQ(system_names(), files_of("systems"));
  EXPECT_GE(model_names().size(), 30U);
  for (const LibraryFile& file : library_models()) {
    const Result<std::string> text = read_document("data/models/" + std::string(file.name) + ".toml");
    ASSERT_TRUE(text);
    EXPECT_EQ(file.text, *text) << file.name;
  }
}

TEST(Library, EveryFileReadsNamesItselfAndItsSource) {
  for (const std::string& name : model_names()) {
    const Result<Model> model = load_model(name);
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_EQ(model->name, name);
    EXPECT_GT(model->source.size(), 10U) << name;
    const Result<Model> file = load_model("data/models/" + name + ".toml");
    ASSERT_TRUE(file);
    EXPECT_EQ(*file, *model);
  }
  for (const std::string& name : system_names()) {
    const Result<System> system = load_system(name);
    ASSERT_TRUE(system) << system.error().text();
    EXPECT_EQ(system->name, name);
    EXPECT_GT(system->source.size(), 10U) << name;
    EXPECT_EQ(*load_system("data/systems/" + name + ".toml"), *system);
  }
}

TEST(Library, PublishedPeaks) {
  EXPECT_EQ(load_system("dgx-a100")->tflops[0], 312);
  EXPECT_EQ(load_system("dgx-h100")->tflops[0], 989.4);
  EXPECT_EQ(load_system("h800")->networks[0].gb_s, 200);
  EXPECT_EQ(load_system("gb200-nvl72")->networks[0].domain, 72);
}

TEST(Library, UnknownNamesGetTheNearest) {
  const Result<Model> model = load_model("llama3-8n");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kUsage);
  EXPECT_NE(model.error().text().find("did you mean 'llama3-8b'?"), std::string::npos) << model.error().text();
  const Result<System> system = load_system("dgx-h10");
  ASSERT_FALSE(system);
  EXPECT_NE(system.error().hint.find("dgx-h100"), std::string::npos);
  const Result<System> strange = load_system("something else entirely");
  ASSERT_FALSE(strange);
  EXPECT_NE(strange.error().hint.find("b200, cpu"), std::string::npos);
  EXPECT_FALSE(load_model("there/is/no.toml"));
  EXPECT_FALSE(load_model(""));
}

TEST(Library, FilesAreToldApartByWhatTheyHold) {
  const std::string path = std::filesystem::temp_directory_path() / "comity_library_test.json";
  {
    std::ofstream out(path);
    out << "\n {\"hidden\":64,\"feedforward\":256,\"seq_size\":128,\"attn_heads\":4,\"attn_size\":16,\"num_blocks\":2}";
  }
  const Result<Model> model = load_model(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->name, "comity_library_test");
  EXPECT_EQ(model->layers, 2);
}

std::string billions(double v) {
  std::ostringstream out;
  out.setf(std::ios::fixed);
  out.precision(v < 1e9 ? 3 : v < 1e10 ? 2 : 1);
  out << v / 1e9;
  return out.str();
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string model_table() {
  std::string out =
      "| name | parameters, 10^9 | a token's | layers | width | heads | key/value | sequence | source |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---|\n";
  for (const std::string& name : model_names()) {
    const Model model = *load_model(name);
    const Parameters p = parameters(model);
    const std::int64_t layers = model.layers + model.encoder_layers;
    out += "| " + name + " | " + billions(p.total) + " | " + billions(p.active) + " | " + std::to_string(layers) +
           " | " + std::to_string(model.hidden) + " | " + std::to_string(model.heads) + " | " +
           (model.latent.kv_rank > 0 ? "latent" : std::to_string(model.kv_heads)) + " | " +
           std::to_string(model.sequence) + " | " + escaped(model.source) + " |\n";
  }
  return out;
}

std::string plain(double v) {
  std::ostringstream out;
  out << v;
  return v > 0 ? out.str() : "";
}

std::string system_table() {
  std::string out =
      "| name | GPU | bf16 | fp16 | fp32 | fp8 | memory, GiB | memory, GB/s | networks, GB/s one way | source |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---|---|\n";
  for (const std::string& name : system_names()) {
    const System s = *load_system(name);
    out += "| " + name + " | " + s.gpu;
    for (const double peak : s.tflops) out += " | " + plain(peak);
    out += " | " + plain(s.memory_gib) + " | " + plain(s.memory_gb_s) + " | ";
    for (std::size_t i = 0; i < s.networks.size(); ++i) {
      const Network& n = s.networks[i];
      out += (i > 0 ? "; " : "") + n.name + ' ' + plain(n.gb_s) +
             (n.domain > 0 ? " over " + std::to_string(n.domain) : std::string());
    }
    out += " | " + escaped(s.source) + " |\n";
  }
  return out;
}

// docs/models.md is written by this test: COMITY_WRITE_DOCS=1 workload_test --gtest_filter='Library.Docs*'
TEST(Library, DocsAreCurrent) {
  const Result<std::string> before = read_document("docs/models.md");
  ASSERT_TRUE(before) << before.error().text();
  std::string text = *before;
  for (const auto& [mark, table] : {std::pair{std::string("models"), model_table()}, {"systems", system_table()}}) {
    const std::string open = "<!-- " + mark + " -->\n";
    const std::string close = "<!-- end of " + mark + " -->";
    const std::size_t from = text.find(open);
    const std::size_t to = text.find(close);
    ASSERT_TRUE(from != text.npos && to != text.npos && from < to) << mark;
    text = text.substr(0, from + open.size()) + table + text.substr(to);
  }
  if (std::getenv("COMITY_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file("docs/models.md", text));
  }
  EXPECT_EQ(*read_document("docs/models.md"), text)
      << "run COMITY_WRITE_DOCS=1 build/release/src/workload/workload_test --gtest_filter='Library.Docs*'";
}

}  // namespace
}  // namespace comity::workload
