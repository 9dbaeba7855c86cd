// SPDX-License-Identifier: Apache-2.0
// The secret from which pseudonyms are made: 32 random bytes, in a file as 64 hexadecimal digits that only its owner
// may read. Pseudonyms are keyed BLAKE2b (RFC 7693) as libsodium has it; without the key they can be neither undone nor
// made for a guessed name. The key is wiped from memory at the end and is in no message.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace comity::trace {

class Key {
 public:
  static constexpr std::size_t kBytes = 32;

  // Errors name the file: kNotFound; kInput where it is no regular file, others than its owner may read or write it,
  // it belongs to another user, or it holds no key.
  [[nodiscard]] static Result<Key> read(const std::string& path);
  // A new key from the system's random source, written to `path` (0600). kConflict where the file exists.
  [[nodiscard]] static Result<Key> create(const std::string& path);
  // 64 hexadecimal digits, blanks around them allowed. The error has no part of `text`.
  [[nodiscard]] static Result<Key> parse(std::string_view text);

  Key(Key&& other) noexcept;
  Key& operator=(Key&&) = delete;
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key();

  // The pseudonym of `text` within `domain` (no NUL): 16 characters of a to z and 2 to 7, which are the first 80 bits
  // of BLAKE2b(key, domain NUL text). Among n names two share one with probability below n^2 / 2^81.
  [[nodiscard]] std::string pseudonym(std::string_view domain, std::string_view text) const;
  // A number in [0, n) that the key alone determines; n >= 1 and far below 2^64.
  [[nodiscard]] std::uint64_t number(std::string_view domain, std::uint64_t n) const;

 private:
  Key() = default;
  void hash(std::string_view domain, std::string_view text, unsigned char* out, std::size_t size) const;

  std::array<unsigned char, kBytes> bytes_{};
};

}  // namespace comity::trace
