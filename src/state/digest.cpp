#include "state/digest.h"

#include <xxhash.h>

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"

namespace meshwork {
namespace {

static_assert(std::endian::native == std::endian::little, "the digest is over little-endian words");

/// The finalizer of SplitMix64 (Steele et al., OOPSLA'14): a bijection, every input bit moves every
/// output bit.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// The hash of one element. The index is spread first, so that no shift of values along the tensor
/// meets a shift of bits within them.
constexpr std::uint64_t hash_element(std::uint64_t index, std::uint64_t bits) {
  std::uint64_t spread = (index + 1) * 0x9E3779B97F4A7C15U;
  spread ^= spread >> 32U;
  return mix(spread * 0xD1B54A32D192ED03U + bits * 0x9FB21C651E98DF25U);
}

/// Sum over a run of elements whose bits are a `Word`.
template <class Word>
std::uint64_t hash_run(const std::byte* data, std::uint64_t first, std::int64_t count) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Word bits;
    std::memcpy(&bits, data + static_cast<std::size_t>(i) * sizeof(Word), sizeof(Word));
    sum += hash_element(first + static_cast<std::uint64_t>(i), bits);
  }
  return sum;
}

std::uint64_t hash_part(const GlobalTensor& tensor, const TensorPart& part) {
  const std::size_t size = size_of(tensor.dtype);
  std::uint64_t sum = 0;
  read_part(tensor, part, [&](std::int64_t global, const std::byte* data, std::int64_t count) {
    const auto first = static_cast<std::uint64_t>(global);
    switch (size) {
      case 1:
        sum += hash_run<std::uint8_t>(data, first, count);
        break;
      case 4:
        sum += hash_run<std::uint32_t>(data, first, count);
        break;
      case 8:
        sum += hash_run<std::uint64_t>(data, first, count);
        break;
      default:
        MW_CHECK(false, "{}: elements of {} bytes", tensor.path, size);
    }
  });
  return sum;
}

/// Appends words with their lengths, so that no two lists of tensors read the same.
void append_word(std::string& text, std::uint64_t word) {
  char bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  text.append(bytes, sizeof word);
}

void append_string(std::string& text, std::string_view word) {
  append_word(text, word.size());
  text += word;
}

}  // namespace

std::uint64_t digest(const std::vector<GlobalTensor>& tensors, const std::vector<TensorPart>& parts,
                     HostGroup& hosts) {
  std::vector<std::uint64_t> sums(tensors.size(), 0);
  for (const TensorPart& part : parts) {
    const GlobalTensor& tensor = tensors.at(part.tensor);
    check_part(tensor, part.region, part.shape);
    if (part.owner) sums[part.tensor] += hash_part(tensor, part);
  }
  const std::vector<std::int64_t> all = sum_over_members(hosts, {sums.begin(), sums.end()});

  std::string text;
  for (const std::size_t i : in_path_order(tensors)) {
    append_string(text, tensors[i].path);
    append_string(text, to_string(tensors[i].dtype));
    append_word(text, tensors[i].shape.size());
    for (const std::int64_t extent : tensors[i].shape) {
      append_word(text, static_cast<std::uint64_t>(extent));
    }
    append_word(text, static_cast<std::uint64_t>(all[i]));
  }
  return XXH64(text.data(), text.size(), 0);
}

}  // namespace meshwork
