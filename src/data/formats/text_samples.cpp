#include "data/formats/text_samples.h"

#include <utf8.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace meshwork::data {
namespace {

std::int32_t pad_of(const Tokenizer& tokenizer, const TextKeys& keys) {
  const auto count = std::ssize(tokenizer.texts());
  if (keys.pad) {
    if (*keys.pad < count) return static_cast<std::int32_t>(*keys.pad);
    config::fail_at(keys.at, "pad is {}, but the tokenizer has {} tokens, from 0", *keys.pad,
                    count);
  }
  for (const char* const token : {"[PAD]", "<pad>", "<|pad|>"}) {
    const std::int32_t number = tokenizer.find(token);
    if (number >= 0) return number;
  }
  config::fail_at(
      keys.at,
      "the tokenizer has neither [PAD] nor <pad> nor <|pad|>; say with `pad` the number "
      "of the token that stands behind shorter texts");
}

}  // namespace

TextSamples::Frame TextSamples::frame_of(const Tokenizer& tokenizer, const TextKeys& keys) {
  Frame frame{.around = tokenizer.surroundings(), .pad = pad_of(tokenizer, keys)};
  const std::size_t fixed = frame.around.before.size() + frame.around.behind.size();
  const auto length = static_cast<std::size_t>(keys.length);
  if (fixed >= length) {
    config::fail_at(keys.at,
                    "the tokenizer puts {} tokens around a text, which leaves none of a length of "
                    "{} to it",
                    fixed, length);
  }
  frame.room = length - fixed;
  return frame;
}

std::optional<TextKeys> read_text_keys(config::Reader& options) {
  const config::Value* file = options.find("tokenizer");
  if (file == nullptr) return std::nullopt;
  TextKeys keys{.tokenizer = read_tokenizer_key(options), .at = file->at};
  keys.length = options.require_integer("length", config::at_least(1));
  if (options.find("pad") != nullptr) {
    keys.pad = options.require_integer("pad", config::at_least(0));
  }
  return keys;
}

TextSamples::TextSamples(const TextKeys& keys, const OpenContext& context)
    : opened_(keys.tokenizer->open(context)),
      length_(keys.length),
      frame_(frame_of(*opened_.tokenizer, keys)) {}

SourceInfo TextSamples::info(const std::string& name, std::int64_t texts) const {
  checked_elements(name, {texts, length_}, sizeof(std::int32_t));
  return {name, {texts, length_}, DType::kInt32, opened_.vocabulary};
}

std::byte* TextSamples::write(std::string_view text, const std::function<std::string()>& place,
                              WordCache& cache, std::byte* out) const {
  const std::size_t bad = utf8::find_invalid(text);
  if (bad != std::string_view::npos) {
    fail(ExitCode::kFile,
         "{}: byte {} (0x{:02x}) is no UTF-8; convert the file (iconv -f latin1 -t utf8)", place(),
         bad, static_cast<unsigned char>(text[bad]));
  }
  std::vector<std::int32_t> tokens = frame_.around.before;
  std::size_t room = frame_.room;
  opened_.tokenizer->encode(text, cache, [&](std::span<const std::int32_t> some) {
    some = some.first(std::min(room, some.size()));
    tokens.insert(tokens.end(), some.begin(), some.end());
    room -= some.size();
  });
  tokens.insert(tokens.end(), frame_.around.behind.begin(), frame_.around.behind.end());
  tokens.insert(tokens.end(), room, frame_.pad);
  const std::size_t bytes = tokens.size() * sizeof tokens.front();
  std::memcpy(out, tokens.data(), bytes);
  return out + bytes;
}

}  // namespace meshwork::data
