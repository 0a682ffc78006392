#include "data/fingerprint.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>

#include "base/join.h"

namespace meshwork::data {
namespace {

constexpr std::int64_t kSamples = 16;

std::string describe(const Field& field) {
  std::string text = fmt::format("{} {} [{}] {} {} {} {}", field.name, to_string(field.dtype),
                                 join(field.shape, ","), to_string(field.source->info().dtype),
                                 field.conversion.scale, field.conversion.offset, field.classes);
  if (field.normalization.empty()) return text;
  return text + fmt::format(" [{}] [{}]", fmt::join(field.normalization.mean, ","),
                            fmt::join(field.normalization.std, ","));
}

}  // namespace

std::uint64_t fingerprint(const Split& split) {
  XXH64_hash_t hash = static_cast<XXH64_hash_t>(split.samples);
  const auto add = [&](const void* data, std::size_t bytes) {
    hash = XXH3_64bits_withSeed(data, bytes, hash);
  };
  const std::int64_t looked_at = std::min(split.samples, kSamples);
  std::vector<std::byte> sample;
  for (const Field& field : split.fields) {
    const std::string text = describe(field);
    add(text.data(), text.size());
    if (const auto& vocabulary = field.source->info().vocabulary) {
      const std::string& tokenizer = vocabulary->tokenizer;
      const std::string tokens = tokenizer.empty() ? to_json(*vocabulary) : tokenizer;
      add(tokens.data(), tokens.size());
    }
    const std::int64_t elements = num_elements(field.stored_shape());
    sample.resize(static_cast<std::size_t>(elements) * size_of(field.source->info().dtype));
    for (std::int64_t i = 0; i < looked_at; ++i) {
      const std::int64_t last = std::max<std::int64_t>(looked_at - 1, 1);
      const std::int64_t number = split.first + i * (split.samples - 1) / last;
      field.source->read(number * elements, elements, sample.data());
      add(sample.data(), sample.size());
    }
  }
  return hash;
}

}  // namespace meshwork::data
