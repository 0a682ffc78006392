#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/text_codec.h"

namespace meshwork {

/// The text of tokens as they come behind a prompt. What may still become part of a stop text, or
/// the rest of a character, is held back.
class TextStream {
 public:
  /// `prompt`: the tokens before; a word may begin otherwise behind others than at the start.
  TextStream(const data::TextCodec& codec, std::vector<std::string> stops,
             std::span<const std::int32_t> prompt = {});

  /// The text that is now sure, behind all given so far.
  std::string add(std::int32_t token);
  /// Whether the text has come to a stop text, before which it ends.
  bool has_stopped() const { return has_stopped_; }
  /// No token comes any more: what was held back.
  std::string finish();

 private:
  void read();
  void forget();
  std::string give(std::size_t end);
  std::size_t sure_end() const;

  const data::TextCodec& codec_;
  std::vector<std::string> stops_;
  std::vector<std::int32_t> tokens_;  ///< some of the last, by which the next ones are read
  std::size_t before_ = 0;            ///< bytes of the text of these that are in text_, or given
  std::string text_;                  ///< before that of tokens_, what has not been given
  std::string whole_;                 ///< with that of tokens_
  std::size_t given_ = 0;             ///< bytes of whole_
  bool has_stopped_ = false;
};

}  // namespace meshwork
