// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format, as much as Chakra's traces need: fields of one message in order, and their encoding. A
// library of its own (libprotobuf) would bring generated code and 20 MB for 150 lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace comity::workload::wire {

enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;  // varint, or the bits of a fixed field
  std::string_view bytes;   // kBytes
};

// Walks over the fields of one message. next() is false at the end and where the bytes are no message: broken() tells
// which, at() where (bytes from the beginning of the message). Groups (kinds 3 and 4) are refused.
class Reader {
 public:
  explicit Reader(std::string_view message) : bytes_(message) {}
  bool next(Field& field);
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  bool varint(std::uint64_t& value);
  bool fixed(std::size_t size, std::uint64_t& value);

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

// Calls each(value) for every number of a repeated integer field, packed or not. False: the bytes are no varints.
template <class Each>
bool integers(const Field& field, Each each) {
  if (field.kind == Kind::kVarint) {
    each(field.value);
    return true;
  }
  if (field.kind != Kind::kBytes) return false;
  for (std::size_t i = 0; i < field.bytes.size();) {
    std::uint64_t value = 0;
    int shift = 0;
    for (;; shift += 7) {
      if (i == field.bytes.size() || shift > 63) return false;
      const auto byte = static_cast<std::uint8_t>(field.bytes[i++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    each(value);
  }
  return true;
}

void put_varint(std::string& out, std::uint64_t value);
void put_tag(std::string& out, std::uint32_t number, Kind kind);
void put_fixed(std::string& out, std::uint64_t bits, std::size_t size);  // little endian
void put_bytes(std::string& out, std::uint32_t number, std::string_view bytes);

}  // namespace comity::workload::wire
