#include "data/formats/gunzip.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace meshwork::data {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;  // ISA-L counts in 32 bits

std::string_view reason(int status) {
  switch (status) {
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance";
    case ISAL_INVALID_WRAPPER:
      return "invalid header";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "incorrect checksum";
    default:
      return "no reason given";
  }
}

/// The state of decompressing one file.
class Inflater {
 public:
  Inflater(const MappedFile& file, std::size_t chunk) : file_(file), chunk_(chunk) {
    begin_member();
  }

  /// Decompresses more of the file to `out`, which is advanced. False when the file is over.
  bool step(std::span<std::byte>& out) {
    const std::span<const std::byte> in = file_.bytes().subspan(done_, std::min(chunk_, left()));
    const auto room = static_cast<std::uint32_t>(std::min(out.size(), kMostAtOnce));
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data()));
    state_->avail_in = static_cast<std::uint32_t>(in.size());
    state_->next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_->avail_out = room;
    const int status = isal_inflate(state_.get());
    if (status != ISAL_DECOMP_OK) fail_damaged(reason(status));
    done_ += in.size() - state_->avail_in;
    file_.forget(done_);
    out = out.subspan(room - state_->avail_out);
    if (state_->block_state == ISAL_BLOCK_FINISH) return next_member();
    if (left() > 0 || state_->avail_out == 0) return true;
    fail(ExitCode::kFile, "{}: the gzip data is cut off; fetch the file again", file_.path());
  }

 private:
  std::size_t left() const { return file_.bytes().size() - done_; }

  bool next_member() {
    if (left() == 0) return false;
    if (!is_gzip(file_.bytes().subspan(done_))) {
      fail(ExitCode::kFile, "{}: {} bytes of garbage after the gzip data; fetch the file again",
           file_.path(), left());
    }
    begin_member();
    return true;
  }

  void begin_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }

  [[noreturn]] void fail_damaged(std::string_view why) const {
    fail(ExitCode::kFile, "{}: the gzip data is damaged ({}); fetch the file again", file_.path(),
         why);
  }

  const MappedFile& file_;
  std::size_t chunk_;
  std::size_t done_ = 0;  ///< bytes of the file
  std::unique_ptr<inflate_state> state_ = std::make_unique<inflate_state>();
};

}  // namespace

bool is_gzip(std::span<const std::byte> file) {
  return file.size() >= 2 && file[0] == std::byte{0x1F} && file[1] == std::byte{0x8B};
}

void refuse_gzip(const std::string& path) {
  if (!path.ends_with(".gz")) return;
  fail(ExitCode::kFile,
       "{}: a file of this format, which is packed itself, is not read from .gz; unpack it: gunzip "
       "{}",
       path, path);
}

std::size_t gunzip(const MappedFile& file, std::span<std::byte> out, std::size_t chunk) {
  Inflater inflater(file, chunk);
  std::span<std::byte> room = out;
  while (!room.empty() && inflater.step(room)) {
  }
  return out.size() - room.size();
}

std::size_t gunzip_size(const MappedFile& file) {
  Inflater inflater(file, kGzipChunk);
  std::vector<std::byte> buffer(std::size_t{1} << 18U);
  std::size_t size = 0;
  for (bool more = true; more;) {
    std::span<std::byte> room = buffer;
    more = inflater.step(room);
    size += buffer.size() - room.size();
  }
  return size;
}

}  // namespace meshwork::data
