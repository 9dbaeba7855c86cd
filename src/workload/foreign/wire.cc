// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/wire.h"

namespace comity::workload::wire {

bool Reader::varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == bytes_.size() || shift > 63) return false;
    const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool Reader::fixed(std::size_t size, std::uint64_t& value) {
  if (bytes_.size() - at_ < size) return false;
  value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes_[at_ + i])) << (8 * i);
  at_ += size;
  return true;
}

bool Reader::next(Field& field) {
  if (broken_ || at_ == bytes_.size()) return false;
  const std::size_t begin = at_;
  std::uint64_t tag = 0;
  bool ok = varint(tag) && (tag >> 3) > 0 && (tag >> 3) < (1U << 29);
  field = {};
  if (ok) {
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.kind = static_cast<Kind>(tag & 7);
    switch (field.kind) {
      case Kind::kVarint: ok = varint(field.value); break;
      case Kind::kFixed64: ok = fixed(8, field.value); break;
      case Kind::kFixed32: ok = fixed(4, field.value); break;
      case Kind::kBytes:
        ok = varint(field.value) && field.value <= bytes_.size() - at_;
        if (ok) {
          field.bytes = bytes_.substr(at_, field.value);
          at_ += field.value;
        }
        break;
      default: ok = false;
    }
  }
  if (!ok) {
    broken_ = true;
    at_ = begin;
  }
  return ok;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_tag(std::string& out, std::uint32_t number, Kind kind) {
  put_varint(out, (static_cast<std::uint64_t>(number) << 3) | static_cast<std::uint64_t>(kind));
}

void put_fixed(std::string& out, std::uint64_t bits, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>((bits >> (8 * i)) & 0xFF));
}

void put_bytes(std::string& out, std::uint32_t number, std::string_view bytes) {
  put_tag(out, number, Kind::kBytes);
  put_varint(out, bytes.size());
  out.append(bytes);
}

}  // namespace comity::workload::wire
