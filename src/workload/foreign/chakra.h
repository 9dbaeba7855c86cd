// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces (MLCommons, schema 0.0.4 and older): one file a rank, a stream of protobuf messages, each
// behind its length: GlobalMetadata, then nodes. Read from .et, .et.gz and the JSON form ("workload_graph"), written
// as .et. No libprotobuf: wire.h.
//
// Bounds: kMessageBytes a message, kChakraNodes nodes, 2^32 - 1 different strings. Memory: about 100 B a node and 24 B
// an attribute; every string once.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/input.h"
#include "base/result.h"

namespace comity::workload {

inline constexpr std::size_t kMessageBytes = 64U << 20;
inline constexpr std::size_t kChakraNodes = 100'000'000;

// Strings by number; 0 is "". Equal strings have one number, given in order of first use.
class Strings {
 public:
  Strings() { intern({}); }
  Strings(const Strings& other);
  Strings(Strings&& other) noexcept = default;
  Strings& operator=(const Strings& other);
  Strings& operator=(Strings&& other) noexcept = default;
  ~Strings() = default;

  std::uint32_t intern(std::string_view text);
  [[nodiscard]] std::string_view operator[](std::uint32_t number) const { return texts_[number]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  bool operator==(const Strings& other) const { return texts_ == other.texts_; }

 private:
  std::deque<std::string> texts_;  // a deque: the views below stay valid
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

enum class NodeType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7
};
[[nodiscard]] std::string_view node_type_name(NodeType type);

// The schema's CollectiveCommType.
enum class ChakraCollective : std::uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9
};
[[nodiscard]] std::string_view collective_name(ChakraCollective type);

// AttributeProto: `field` is the number of the member of its oneof (3 double, 5 float, 7 int32, 9 int64, 11 uint32,
// 13 uint64, 15 sint32, 17 sint64, 19 fixed32, 21 fixed64, 23 sfixed32, 25 sfixed64, 27 bool, 29 string, 31 bytes; one
// more: the list), 0 where it has none.
struct ChakraAttribute {
  std::uint32_t name = 0;
  std::uint32_t doc = 0;
  std::uint32_t text = 0;  // string, bytes; a list's encoded message
  std::uint8_t field = 0;
  std::uint64_t bits = 0;  // the number as it stands on the wire
  bool operator==(const ChakraAttribute&) const = default;
};

// What is passed to and from an operator, as text.
struct ChakraIo {
  std::uint32_t values = 0;
  std::uint32_t shapes = 0;
  std::uint32_t types = 0;
  bool present = false;
  bool operator==(const ChakraIo&) const = default;
};

// Structure of arrays: element i of each vector belongs to node i, in the order of the file. Dependencies stand as
// they do in the file, ids that no node has included; ChakraGraph resolves them.
struct ChakraTrace {
  std::string version;
  std::vector<ChakraAttribute> metadata;
  Strings strings;

  std::vector<std::uint64_t> id;
  std::vector<NodeType> type;
  std::vector<std::uint32_t> name;
  std::vector<std::uint64_t> start_us;
  std::vector<std::uint64_t> duration_us;
  std::vector<ChakraIo> inputs;
  std::vector<ChakraIo> outputs;
  std::vector<std::uint64_t> ctrl_end;  // node i's are ctrl[ctrl_end[i - 1] .. ctrl_end[i])
  std::vector<std::uint64_t> data_end;
  std::vector<std::uint64_t> attr_end;
  std::vector<std::uint64_t> ctrl;
  std::vector<std::uint64_t> data;
  std::vector<ChakraAttribute> attrs;

  std::uint64_t unknown_fields = 0;  // of a newer schema, not kept

  [[nodiscard]] std::size_t nodes() const { return id.size(); }
  [[nodiscard]] std::span<const std::uint64_t> ctrl_of(std::size_t node) const;
  [[nodiscard]] std::span<const std::uint64_t> data_of(std::size_t node) const;
  [[nodiscard]] std::span<const ChakraAttribute> attrs_of(std::size_t node) const;
  [[nodiscard]] const ChakraAttribute* attr(std::size_t node, std::string_view name) const;  // null when absent
  // The attribute as a whole number, whichever type the writer chose (integers, bool, a double without fraction, a
  // string of digits). Nothing when absent or no number.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t node, std::string_view name) const;
  [[nodiscard]] std::optional<bool> boolean(std::size_t node, std::string_view name) const;
  [[nodiscard]] std::string text(std::size_t node, std::string_view name) const;  // numbers as digits; "" when absent
  [[nodiscard]] std::optional<std::vector<bool>> booleans(std::size_t node, std::string_view name) const;
  // "node 12 (\"all_reduce\")", for messages.
  [[nodiscard]] std::string label(std::size_t node) const;

  // Building one: begin_node() closes the node before.
  void begin_node(std::uint64_t node_id, NodeType node_type, std::string_view node_name);
  void add_ctrl(std::uint64_t dependency);
  void add_data(std::uint64_t dependency);
  void add_attr(const ChakraAttribute& attribute);
  void add_integer(std::string_view attribute, std::int64_t value);  // int64, as ASTRA-sim's generators write
  void add_boolean(std::string_view attribute, bool value);
  void add_text(std::string_view attribute, std::string_view value);

  bool operator==(const ChakraTrace&) const = default;
};

// .et, .et.gz or JSON (told apart by the first bytes). Errors (kInput) name the file, the message and the byte. A tar
// archive is refused with a hint.
[[nodiscard]] Result<ChakraTrace> read_chakra(const std::string& path);
[[nodiscard]] Result<ChakraTrace> read_chakra_from(ByteSource& source, const std::string& name);

// Equal traces give equal bytes; read_chakra_from(write_chakra(t)) == t when t.unknown_fields is 0.
[[nodiscard]] std::string write_chakra(const ChakraTrace& trace);
[[nodiscard]] Status write_chakra_file(const ChakraTrace& trace, const std::string& path);

// Dependencies by index, both kinds together: node i waits for parents[parent_end[i - 1] .. parent_end[i]).
struct ChakraGraph {
  std::vector<std::uint64_t> parent_end;
  std::vector<std::uint32_t> parents;
  std::uint64_t dangling = 0;              // entries that name an absent node: dropped
  std::uint64_t dangling_zero = 0;         // of them: node 0, a known defect of converters
  std::uint64_t duplicate = 0;             // entries that were there before (a node both kinds name, say)
  std::vector<std::uint64_t> some_absent;  // up to 8 of the absent ids
  std::vector<std::uint64_t> cycle;        // ids along one cycle, empty when there is none

  [[nodiscard]] std::span<const std::uint32_t> parents_of(std::size_t node) const;
};
// Fails (kInput) on two nodes of one id. A cycle is no failure here: whoever executes refuses it.
[[nodiscard]] Result<ChakraGraph> chakra_graph(const ChakraTrace& trace, const std::string& name);

struct ChakraStatistics {
  std::uint64_t nodes = 0;
  std::uint64_t by_type[8] = {};
  std::uint64_t duration_us = 0;  // sum
  std::uint64_t ctrl = 0;         // dependency entries
  std::uint64_t data = 0;
  std::uint64_t dangling = 0;
  std::uint64_t dangling_zero = 0;
  std::uint64_t attributes = 0;
  std::uint64_t cpu_nodes = 0;          // is_cpu_op is true
  std::uint64_t typed_collectives = 0;  // collectives that say which and how large
  std::uint64_t collective_bytes = 0;
  bool cyclic = false;
};
[[nodiscard]] Result<ChakraStatistics> chakra_statistics(const ChakraTrace& trace, const std::string& name);

}  // namespace comity::workload
