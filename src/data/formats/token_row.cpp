#include "data/formats/token_row.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/conversion.h"
#include "base/error.h"

namespace meshwork::data {
namespace {

class MemorySource : public Source {
 public:
  MemorySource(SourceInfo info, std::vector<std::byte> bytes)
      : Source(std::move(info)), bytes_(std::move(bytes)) {}

  bool is_resident() const override { return true; }
  const std::byte* samples() const override { return bytes_.data(); }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    std::copy_n(samples() + begin * item(), count * item(), out);
  }

  std::vector<std::byte> bytes_;
};

DType dtype_of(std::int64_t count) {
  if (count <= 1 << 8) return DType::kUInt8;
  return count <= 1 << 16 ? DType::kUInt16 : DType::kInt32;
}

template <class T>
void append(std::span<const std::int32_t> tokens, std::vector<std::byte>& bytes) {
  std::size_t at = bytes.size();
  bytes.resize(at + tokens.size() * sizeof(T));
  for (const std::int32_t token : tokens) {
    const auto number = static_cast<T>(token);
    std::memcpy(bytes.data() + at, &number, sizeof number);
    at += sizeof number;
  }
}

}  // namespace

TokenRowBuilder::TokenRowBuilder(std::int64_t count) : dtype_(dtype_of(count)) {}

void TokenRowBuilder::reserve(std::int64_t tokens) {
  bytes_.reserve(bytes_.size() + static_cast<std::size_t>(tokens) * size_of(dtype_));
}

void TokenRowBuilder::begin_document() {
  starts_.push_back(static_cast<std::int64_t>(bytes_.size() / size_of(dtype_)));
}

void TokenRowBuilder::add(std::span<const std::int32_t> tokens) {
  if (dtype_ == DType::kUInt8) return append<std::uint8_t>(tokens, bytes_);
  if (dtype_ == DType::kUInt16) return append<std::uint16_t>(tokens, bytes_);
  append<std::int32_t>(tokens, bytes_);
}

TokenRow TokenRowBuilder::build(std::string name, std::shared_ptr<const Vocabulary> vocabulary) && {
  const auto count = static_cast<std::int64_t>(bytes_.size() / size_of(dtype_));
  TokenRow row;
  row.tokens = std::make_shared<MemorySource>(
      SourceInfo{std::move(name), {count}, dtype_, std::move(vocabulary)}, std::move(bytes_));
  row.starts = [starts = std::move(starts_)](std::int64_t first, std::span<std::uint8_t> begins) {
    std::ranges::fill(begins, std::uint8_t{0});
    const std::int64_t end = first + std::ssize(begins);
    for (auto at = std::ranges::lower_bound(starts, first); at != starts.end() && *at < end; ++at) {
      begins[static_cast<std::size_t>(*at - first)] = 1;
    }
  };
  return row;
}

void read_tokens(const Source& tokens, std::int64_t first, std::span<std::int32_t> out) {
  const DType dtype = tokens.info().dtype;
  std::vector<std::byte> raw(out.size() * size_of(dtype));
  tokens.read(first, std::ssize(out), raw.data());
  const Conversion whole{DType::kInt32};
  const std::int64_t good = convert_elements(raw.data(), dtype, std::ssize(out), whole, out.data());
  if (good == std::ssize(out)) return;
  const SamplePlace place = tokens.place_of(first + good);
  fail(ExitCode::kFile, "{}: token {} is not an int32; mend the file", place.name, place.sample);
}

}  // namespace meshwork::data
