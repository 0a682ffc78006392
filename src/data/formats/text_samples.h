#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/formats/tokenizer_file.h"

namespace meshwork::data {

/// Keys of a field whose samples are texts: tokenizer (a tokenizer.json), length (of all its
/// samples; longer texts are cut, and keep the tokens that the tokenizer puts around them), pad
/// (the number behind shorter ones; by default that of the tokenizer's [PAD], <pad> or <|pad|>).
struct TextKeys {
  std::shared_ptr<TokenizerFile> tokenizer;
  std::int64_t length = 0;
  std::optional<std::int64_t> pad = std::nullopt;
  config::Location at;  ///< of `tokenizer`
};

/// nullopt where the field has no `tokenizer`.
std::optional<TextKeys> read_text_keys(config::Reader& options);

/// Makes tokens of texts, as many for each. Any number of threads may use it, each with a cache of
/// its own.
class TextSamples {
 public:
  /// Reads the tokenizer. An Error where the keys do not go with it.
  TextSamples(const TextKeys& keys, const OpenContext& context);

  /// What is known of the samples of so many texts, int32 [texts, length], from `name`.
  SourceInfo info(const std::string& name, std::int64_t texts) const;

  /// The tokens of a text, at `out`; what follows them. Text that is no UTF-8 is an Error, which
  /// begins with `place`.
  std::byte* write(std::string_view text, const std::function<std::string()>& place,
                   WordCache& cache, std::byte* out) const;

 private:
  /// The tokens that a sample has whatever its text is, and how many the text may have.
  struct Frame {
    Surroundings around;
    std::size_t room = 0;
    std::int32_t pad = 0;
  };
  static Frame frame_of(const Tokenizer& tokenizer, const TextKeys& keys);

  TokenizerFile::Opened opened_;
  std::int64_t length_ = 0;
  Frame frame_;
};

}  // namespace meshwork::data
