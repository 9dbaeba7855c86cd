// SPDX-License-Identifier: Apache-2.0
#include "base/compressor.h"
#include "workload/foreign/chakra.h"
#include "workload/foreign/wire.h"

namespace comity::workload {

namespace {

using wire::Kind;

// proto3 leaves out a field that has its default value.
void put_number(std::string& out, std::uint32_t number, std::uint64_t value) {
  if (value == 0) return;
  wire::put_tag(out, number, Kind::kVarint);
  wire::put_varint(out, value);
}

void put_text(std::string& out, std::uint32_t number, std::string_view text) {
  if (!text.empty()) wire::put_bytes(out, number, text);
}

void put_ids(std::string& out, std::uint32_t number, std::span<const std::uint64_t> ids) {
  if (ids.empty()) return;
  std::string packed;
  for (const std::uint64_t id : ids) wire::put_varint(packed, id);
  wire::put_bytes(out, number, packed);
}

void put_attribute(std::string& out, std::uint32_t number, const ChakraAttribute& a, const Strings& strings) {
  std::string message;
  put_text(message, 1, strings[a.name]);
  put_text(message, 2, strings[a.doc]);
  switch (a.field) {
    case 0: break;
    case 3:
    case 21:
    case 25:
      wire::put_tag(message, a.field, Kind::kFixed64);
      wire::put_fixed(message, a.bits, 8);
      break;
    case 5:
    case 19:
    case 23:
      wire::put_tag(message, a.field, Kind::kFixed32);
      wire::put_fixed(message, a.bits, 4);
      break;
    default:
      if (a.field % 2 == 0 || a.field == 29 || a.field == 31) {
        wire::put_bytes(message, a.field, strings[a.text]);
      } else {  // a member of a oneof is written when it is 0, too
        wire::put_tag(message, a.field, Kind::kVarint);
        wire::put_varint(message, a.bits);
      }
  }
  wire::put_bytes(out, number, message);
}

void put_io(std::string& out, std::uint32_t number, const ChakraIo& io, const Strings& strings) {
  if (!io.present) return;
  std::string message;
  put_text(message, 1, strings[io.values]);
  put_text(message, 2, strings[io.shapes]);
  put_text(message, 3, strings[io.types]);
  wire::put_bytes(out, number, message);
}

void put_message(std::string& out, std::string_view message) {
  wire::put_varint(out, message.size());
  out.append(message);
}

}  // namespace

std::string write_chakra(const ChakraTrace& trace) {
  std::string out;
  std::string message;
  put_text(message, 1, trace.version);
  for (const ChakraAttribute& a : trace.metadata) put_attribute(message, 2, a, trace.strings);
  put_message(out, message);
  for (std::size_t i = 0; i < trace.nodes(); ++i) {
    message.clear();
    put_number(message, 1, trace.id[i]);
    put_text(message, 2, trace.strings[trace.name[i]]);
    put_number(message, 3, static_cast<std::uint64_t>(trace.type[i]));
    put_ids(message, 4, trace.ctrl_of(i));
    put_ids(message, 5, trace.data_of(i));
    put_number(message, 6, trace.start_us[i]);
    put_number(message, 7, trace.duration_us[i]);
    put_io(message, 8, trace.inputs[i], trace.strings);
    put_io(message, 9, trace.outputs[i], trace.strings);
    for (const ChakraAttribute& a : trace.attrs_of(i)) put_attribute(message, 10, a, trace.strings);
    put_message(out, message);
  }
  return out;
}

Status write_chakra_file(const ChakraTrace& trace, const std::string& path) {
  std::string bytes = write_chakra(trace);
  if (const auto compressor = compressor_for(path)) {
    std::string packed;
    compressor->add(bytes, true, packed);
    bytes = std::move(packed);
  }
  return write_file(path, bytes);
}

}  // namespace comity::workload
