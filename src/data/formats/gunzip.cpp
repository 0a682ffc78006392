#include "data/formats/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/error.h"

namespace meshwork::data {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;  // zlib counts in 32 bits

/// zlib's state, freed whatever happens.
class Inflater {
 public:
  explicit Inflater(const std::string& name) : name_(name) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      fail(ExitCode::kFile, "{}: no memory to decompress it", name_);
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Decompresses from `in` to `out`, both advanced. False when the file is over.
  bool step(std::span<const std::byte>& in, std::span<std::byte>& out) {
    const auto take = static_cast<uInt>(std::min(in.size(), kMostAtOnce));
    const auto room = static_cast<uInt>(std::min(out.size(), kMostAtOnce));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = take;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(take - stream_.avail_in);
    out = out.subspan(room - stream_.avail_out);
    if (status == Z_STREAM_END) return next_member(in);
    if (status == Z_OK && (!in.empty() || stream_.avail_out == 0)) return true;
    if (in.empty() && (status == Z_OK || status == Z_BUF_ERROR)) {
      fail(ExitCode::kFile, "{}: the gzip data is cut off; fetch the file again", name_);
    }
    fail(ExitCode::kFile, "{}: the gzip data is damaged ({}); fetch the file again", name_,
         stream_.msg == nullptr ? "no reason given" : stream_.msg);
  }

 private:
  bool next_member(std::span<const std::byte> in) {
    if (in.empty()) return false;
    if (!is_gzip(in)) {
      fail(ExitCode::kFile, "{}: {} bytes of garbage after the gzip data; fetch the file again",
           name_, in.size());
    }
    inflateReset(&stream_);
    return true;
  }

  const std::string& name_;
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::span<const std::byte> file) {
  return file.size() >= 2 && file[0] == std::byte{0x1F} && file[1] == std::byte{0x8B};
}

std::size_t gunzip(const std::string& name, std::span<const std::byte> file,
                   std::span<std::byte> out) {
  Inflater inflater(name);
  std::span<std::byte> room = out;
  while (!room.empty() && inflater.step(file, room)) {
  }
  return out.size() - room.size();
}

std::size_t gunzip_size(const std::string& name, std::span<const std::byte> file) {
  Inflater inflater(name);
  std::vector<std::byte> buffer(std::size_t{1} << 18U);
  std::size_t size = 0;
  for (bool more = true; more;) {
    std::span<std::byte> room = buffer;
    more = inflater.step(file, room);
    size += buffer.size() - room.size();
  }
  return size;
}

}  // namespace meshwork::data
