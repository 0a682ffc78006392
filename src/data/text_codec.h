#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/vocabulary.h"

namespace meshwork::data {

/// Text to numbers of tokens and back. A kind of vocabulary that has another way to do it is
/// another class, and a line of make_text_codec().
class TextCodec {
 public:
  TextCodec() = default;
  TextCodec(const TextCodec&) = delete;
  TextCodec& operator=(const TextCodec&) = delete;
  virtual ~TextCodec() = default;

  /// With the tokens that a tokenizer puts around a text. Throws Error that begins with `what`,
  /// such as "--prompt", for what has no number.
  virtual std::vector<std::int32_t> encode(std::string_view text,
                                           const std::string& what) const = 0;

  /// Of numbers below count(). A part of a text may end within a character.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;

  virtual std::int64_t count() const = 0;

  /// Of its own tokens: those from here on have been added to a tokenizer, <pad> say.
  virtual std::int64_t own_count() const { return count(); }
};

/// nullptr where nobody says what the numbers stand for.
std::unique_ptr<TextCodec> make_text_codec(const Vocabulary& vocabulary);

}  // namespace meshwork::data
