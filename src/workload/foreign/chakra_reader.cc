// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "workload/foreign/chakra.h"
#include "workload/foreign/chakra_json.h"
#include "workload/foreign/refusal.h"
#include "workload/foreign/wire.h"

namespace comity::workload {

namespace {

using wire::Field;
using wire::Kind;

// The kind in which a member of AttributeProto's oneof stands on the wire.
Kind kind_of(std::uint32_t member) {
  switch (member) {
    case 3:
    case 21:
    case 25: return Kind::kFixed64;
    case 5:
    case 19:
    case 23: return Kind::kFixed32;
    case 29:
    case 31: return Kind::kBytes;
    default: return member % 2 == 0 ? Kind::kBytes : Kind::kVarint;
  }
}

// Bytes of a source, cut into messages.
class Messages {
 public:
  Messages(ByteSource& source, std::string name) : source_(source), name_(std::move(name)) {}

  // The first bytes, not consumed.
  Result<std::string_view> peek(std::size_t size) {
    if (auto filled = fill(size); !filled) return fail(filled.error());
    return std::string_view(buffer_).substr(begin_, size);
  }
  // The next message, valid until the next call; nothing at the end.
  Result<std::optional<std::string_view>> next() {
    if (auto filled = fill(10); !filled) return fail(filled.error());
    at_ += length_;
    length_ = 0;
    if (begin_ == buffer_.size()) return std::nullopt;
    std::uint64_t size = 0;
    std::size_t used = 0;
    for (int shift = 0;; shift += 7) {
      if (begin_ + used == buffer_.size()) return refuse("the file ends inside of a length", "it was cut off");
      if (shift > 28) return refuse("a length that is none", "this is no Chakra trace, or it is damaged");
      const auto byte = static_cast<std::uint8_t>(buffer_[begin_ + used++]);
      size |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    if (size > kMessageBytes)
      return refuse(fmt::format("a message of {} B, at most {} are read", size, kMessageBytes),
                    "this is no Chakra trace, or it is damaged");
    if (auto filled = fill(used + size); !filled) return fail(filled.error());
    if (buffer_.size() - begin_ < used + size)
      return refuse(fmt::format("the file ends inside of a message of {} B", size), "it was cut off");
    const std::string_view message = std::string_view(buffer_).substr(begin_ + used, size);
    begin_ += used + size;
    length_ = used + size;
    ++number_;
    return message;
  }
  // An Error about the message that next() gave (or was about to give), `at` bytes from where it begins.
  [[nodiscard]] tl::unexpected<Error> refuse(std::string what, std::string hint) const {
    return workload::refuse({.file = name_, .line = 0, .field = {}},
                            fmt::format("message {} at byte {}: {}", length_ > 0 ? number_ : number_ + 1, at_, what),
                            std::move(hint));
  }

 private:
  Status fill(std::size_t wanted) {
    if (buffer_.size() - begin_ >= wanted) return {};
    buffer_.erase(0, begin_);
    begin_ = 0;
    while (!eof_ && buffer_.size() < wanted) {
      // Grows with what is there, never with what a length claims.
      const std::size_t before = buffer_.size();
      buffer_.resize(before + (1U << 18));
      auto got = source_.read(buffer_.data() + before, buffer_.size() - before);
      buffer_.resize(before + (got ? *got : 0));
      if (!got) return fail(got.error());
      eof_ = *got == 0;
    }
    return {};
  }

  ByteSource& source_;
  std::string name_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t number_ = 0;
  bool eof_ = false;
};

// Decodes messages into a trace. Each function is false where the bytes are no such message.
class Decoder {
 public:
  ChakraTrace trace;
  std::string wrong;  // what

  bool metadata(std::string_view message) {
    wire::Reader reader(message);
    Field field;
    while (reader.next(field)) {
      if (field.number == 1 && field.kind == Kind::kBytes) {
        trace.version = std::string(field.bytes);
      } else if (field.number == 2 && field.kind == Kind::kBytes) {
        ChakraAttribute attribute;
        if (!this->attribute(field.bytes, attribute)) return false;
        trace.metadata.push_back(attribute);
      } else {
        ++trace.unknown_fields;
      }
    }
    return end(reader, "GlobalMetadata");
  }

  bool node(std::string_view message) {
    trace.begin_node(0, NodeType::kInvalid, {});
    wire::Reader reader(message);
    Field field;
    while (reader.next(field))
      if (!node_field(field)) return false;
    return end(reader, "Node");
  }

 private:
  bool end(const wire::Reader& reader, const char* what) {
    if (reader.broken()) wrong = fmt::format("no {}: byte {} of the message is no field", what, reader.at());
    return !reader.broken();
  }

  bool mismatch(const char* what) {
    wrong = fmt::format("{} has another type than the schema says", what);
    return false;
  }

  bool node_field(const Field& field) {
    const bool varint = field.kind == Kind::kVarint;
    const bool bytes = field.kind == Kind::kBytes;
    switch (field.number) {
      case 1: return varint ? (trace.id.back() = field.value, true) : mismatch("id");
      case 2: return bytes ? (trace.name.back() = trace.strings.intern(field.bytes), true) : mismatch("name");
      case 3:
        if (!varint) return mismatch("type");
        if (field.value > 7) {
          wrong = fmt::format("node type {} is not known (0 to 7 are)", field.value);
          return false;
        }
        trace.type.back() = static_cast<NodeType>(field.value);
        return true;
      case 4: return integers(field, [&](auto v) { trace.add_ctrl(v); }) || mismatch("ctrl_deps");
      case 5: return integers(field, [&](auto v) { trace.add_data(v); }) || mismatch("data_deps");
      case 6: return varint ? (trace.start_us.back() = field.value, true) : mismatch("start_time_micros");
      case 7: return varint ? (trace.duration_us.back() = field.value, true) : mismatch("duration_micros");
      case 8: return bytes ? io(field.bytes, trace.inputs.back()) : mismatch("inputs");
      case 9: return bytes ? io(field.bytes, trace.outputs.back()) : mismatch("outputs");
      case 10: {
        if (!bytes) return mismatch("attr");
        ChakraAttribute attribute;
        if (!this->attribute(field.bytes, attribute)) return false;
        trace.add_attr(attribute);
        return true;
      }
      default: ++trace.unknown_fields; return true;
    }
  }

  bool io(std::string_view message, ChakraIo& io) {
    io.present = true;
    wire::Reader reader(message);
    Field field;
    while (reader.next(field)) {
      if (field.number > 3 || field.kind != Kind::kBytes) {
        ++trace.unknown_fields;
        continue;
      }
      const std::uint32_t text = trace.strings.intern(field.bytes);
      (field.number == 1 ? io.values : field.number == 2 ? io.shapes : io.types) = text;
    }
    return end(reader, "IOInfo");
  }

  bool attribute(std::string_view message, ChakraAttribute& a) {
    wire::Reader reader(message);
    Field field;
    while (reader.next(field)) {
      if (field.number <= 2 && field.kind == Kind::kBytes) {
        (field.number == 1 ? a.name : a.doc) = trace.strings.intern(field.bytes);
      } else if (field.number >= 3 && field.number <= 32) {
        if (field.kind != kind_of(field.number)) return mismatch("an attribute's value");
        a.field = static_cast<std::uint8_t>(field.number);  // of a oneof the last one counts
        a.bits = field.kind == Kind::kBytes ? 0 : field.value;
        a.text = field.kind == Kind::kBytes ? trace.strings.intern(field.bytes) : 0;
      } else {
        ++trace.unknown_fields;
      }
    }
    return end(reader, "AttributeProto");
  }
};

// Some writers leave the metadata out: then the first message is a node, whose field 1 is a number.
bool is_node(std::string_view message) {
  wire::Reader reader(message);
  Field field;
  return reader.next(field) && (field.number > 2 || (field.number == 1 && field.kind == Kind::kVarint));
}

bool is_json(std::string_view head) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  const auto first = std::find_if_not(head.begin(), head.end(), blank);
  if (first == head.end() || *first != '{') return false;
  const auto second = std::find_if_not(first + 1, head.end(), blank);
  return second != head.end() && (*second == '"' || *second == '}');
}

}  // namespace

Result<ChakraTrace> read_chakra_from(ByteSource& source, const std::string& name) {
  Messages messages(source, name);
  const auto head = messages.peek(512);
  if (!head) return fail(head.error());
  if (head->empty())
    return refuse({.file = name, .line = 0, .field = {}}, "the file is empty",
                  "a Chakra trace has a message of metadata");
  if (head->size() > 262 && head->substr(257, 5) == "ustar")
    return refuse({.file = name, .line = 0, .field = {}}, "this is a tar archive",
                  "unpack it (tar xf) and give the .et inside");
  if (is_json(*head)) {
    auto text = messages.peek(kMessageBytes + 1);
    if (!text) return fail(text.error());
    return read_chakra_json(*text, name);
  }
  Decoder decoder;
  for (bool first = true;; first = false) {
    const auto message = messages.next();
    if (!message) return fail(message.error());
    if (!*message) break;
    const bool ok = first && !is_node(**message) ? decoder.metadata(**message) : decoder.node(**message);
    if (!ok) return messages.refuse(decoder.wrong, "this is no Chakra trace, or it is damaged");
    if (decoder.trace.nodes() > kChakraNodes)
      return messages.refuse(fmt::format("over {} nodes", kChakraNodes), "cut the trace into iterations");
  }
  return std::move(decoder.trace);
}

Result<ChakraTrace> read_chakra(const std::string& path) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  return read_chakra_from(**source, path);
}

}  // namespace comity::workload
