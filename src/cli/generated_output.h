#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "data/text_codec.h"
#include "train/text_stream.h"

namespace meshwork::cli {

/// What is generated, to a stream: of each sequence its prompt and the text behind it as it comes,
/// one sequence after the other with a line between them; or, as JSON, a line for each once it has
/// ended. Tokens without texts are numbers, separated by commas.
class GeneratedOutput {
 public:
  struct Form {
    bool json = false;
    bool is_terminal = false;             ///< control characters are shown, not sent
    std::vector<std::string> stops = {};  ///< a text ends before any of these
    std::int64_t most_tokens = 0;         ///< with which a sequence ends at the latest
  };

  /// `codec`: nullptr where tokens have no texts.
  GeneratedOutput(std::ostream& out, const data::TextCodec* codec, Form form,
                  std::vector<std::vector<std::int32_t>> prompts);

  /// The next token of a sequence; true: with it a text has come to a stop.
  bool add(std::int64_t sequence, std::int64_t index, std::int32_t token);

  std::int64_t tokens() const { return tokens_; }  ///< so far, of all sequences

 private:
  struct Text {
    std::vector<std::int32_t> prompt, tokens;
    std::vector<TextStream> stream;  ///< one where there is a codec
    std::string text;                ///< behind the prompt, where a line of JSON has it whole
    std::string waiting;             ///< to be printed when its turn comes
    bool has_ended = false;
  };

  void print(Text& text, const std::string& more);
  void write(const std::string& text);
  void end(Text& text);
  std::string json_line(const Text& text) const;
  std::string show(const std::vector<std::int32_t>& tokens) const;

  std::ostream& out_;
  const data::TextCodec* codec_;
  Form form_;
  std::vector<Text> texts_;
  std::size_t turn_ = 0;  ///< the sequence that is printed as it comes
  std::int64_t tokens_ = 0;
};

}  // namespace meshwork::cli
