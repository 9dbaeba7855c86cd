// SPDX-License-Identifier: Apache-2.0
#include "trace/key.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace comity::trace {
namespace {

constexpr std::size_t kDigits = 2 * Key::kBytes;
constexpr std::size_t kMostBytes = 4096;  // of a key file

void start_sodium() { COMITY_CHECK(sodium_init() >= 0); }

tl::unexpected<Error> refuse(Code code, const std::string& path, std::string message, std::string hint = {}) {
  Error error;
  error.code = code;
  error.file = path;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return fail(std::move(error));
}

// Closes at the end of the scope.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Status check_owner(int descriptor, const std::string& path) {
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return refuse(Code::kInput, path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return refuse(Code::kInput, path, "the key file is no regular file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return refuse(Code::kInput, path, "the key file belongs to another user");
  if ((info.st_mode & 077) != 0)
    return refuse(Code::kInput, path,
                  fmt::format("others may read or write the key file (mode {:o})", info.st_mode & 0777),
                  "chmod 600 it, and take a new key if it may have been read");
  return {};
}

}  // namespace

Result<Key> Key::parse(std::string_view text) {
  start_sodium();
  const std::string_view digits = trim(text.substr(0, text.find('\n')));
  const std::string_view rest = text.find('\n') == std::string_view::npos ? "" : text.substr(text.find('\n') + 1);
  Key key;
  std::size_t size = 0;
  const bool good = digits.size() == kDigits && trim(rest).empty() &&
                    sodium_hex2bin(key.bytes_.data(), kBytes, digits.data(), kDigits, nullptr, &size, nullptr) == 0 &&
                    size == kBytes;
  if (!good) return fail(Code::kInput, "holds no key: one line of 64 hexadecimal digits is expected", "see --new-key");
  return key;
}

Result<Key> Key::read(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0)
    return refuse(errno == ENOENT ? Code::kNotFound : Code::kInput, path,
                  fmt::format("the key file can't be opened: {}", std::strerror(errno)), "make a key with --new-key");
  if (Status status = check_owner(file.get(), path); !status) return fail(std::move(status.error()));
  std::array<char, kMostBytes> text{};
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(Code::kInput, path, std::strerror(errno));
    size += static_cast<std::size_t>(got);
    if (got == 0 || size == text.size()) break;
  }
  Result<Key> key = parse({text.data(), size});
  sodium_memzero(text.data(), text.size());
  if (!key) key.error().file = path;
  return key;
}

Result<Key> Key::create(const std::string& path) {
  start_sodium();
  Key key;
  randombytes_buf(key.bytes_.data(), kBytes);
  std::array<char, kDigits + 1> text{};
  sodium_bin2hex(text.data(), text.size(), key.bytes_.data(), kBytes);
  text.back() = '\n';
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    const int code = errno;
    sodium_memzero(text.data(), text.size());
    if (code == EEXIST) return refuse(Code::kConflict, path, "the file exists", "use it with --key-file");
    return refuse(Code::kInput, path, fmt::format("the key can't be written: {}", std::strerror(code)));
  }
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  const bool good = written == static_cast<ssize_t>(text.size()) && ::fsync(file.get()) == 0;
  sodium_memzero(text.data(), text.size());
  if (good) return key;
  ::unlink(path.c_str());
  return refuse(Code::kInput, path, "the key can't be written");
}

Key::Key(Key&& other) noexcept : bytes_(other.bytes_) { sodium_memzero(other.bytes_.data(), kBytes); }
Key::~Key() { sodium_memzero(bytes_.data(), kBytes); }

void Key::hash(std::string_view domain, std::string_view text, unsigned char* out, std::size_t size) const {
  crypto_generichash_state state;
  crypto_generichash_init(&state, bytes_.data(), kBytes, crypto_generichash_BYTES);
  const auto add = [&](std::string_view s) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(s.data()), s.size());
  };
  add(domain);
  add(std::string_view("\0", 1));
  add(text);
  std::array<unsigned char, crypto_generichash_BYTES> whole{};
  crypto_generichash_final(&state, whole.data(), whole.size());
  std::memcpy(out, whole.data(), size);
}

std::string Key::pseudonym(std::string_view domain, std::string_view text) const {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";  // RFC 4648 base32
  std::array<unsigned char, 10> bits{};
  hash(domain, text, bits.data(), bits.size());
  std::string out;
  for (std::size_t bit = 0; bit < 80; bit += 5) {
    const std::size_t byte = bit / 8;
    const unsigned pair = static_cast<unsigned>(bits[byte]) << 8 | (byte + 1 < bits.size() ? bits[byte + 1] : 0U);
    out += kLetters[pair >> (11 - bit % 8) & 31U];
  }
  return out;
}

std::uint64_t Key::number(std::string_view domain, std::uint64_t n) const {
  COMITY_CHECK(n >= 1);
  std::array<unsigned char, 8> bytes{};
  hash(domain, {}, bytes.data(), bytes.size());
  std::uint64_t value = 0;
  for (const unsigned char byte : bytes) value = value << 8 | byte;
  return value % n;
}

}  // namespace comity::trace
