#include "data/tokenizer/decoder.h"

#include <utf8.h>

#include <array>
#include <charconv>
#include <utility>

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/metaspace.h"
#include "data/tokenizer/pattern.h"
#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

using Tokens = std::vector<std::string>;

constexpr std::string_view kReplacementCharacter = "\uFFFD";

std::string joined(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::size_t bytes_of(const Tokens& tokens) {
  std::size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return bytes;
}

/// A decoder that changes each token by itself: `change(token, its place)`.
template <class Change>
Decoder by_token(Change change) {
  return [change = std::move(change)](Tokens tokens, bool) {
    for (std::size_t i = 0; i < tokens.size(); ++i) change(tokens[i], i);
    return tokens;
  };
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

Decoder read_byte_level(JsonReader& reader) {
  for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) reader.flag(key, true);
  return [](const Tokens& tokens, bool whole) {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytes_of_letters(token).value_or(token);
    return Tokens{whole ? utf8_of(bytes) : bytes};
  };
}

Decoder read_word_piece(JsonReader& reader) {
  static constexpr std::array<std::pair<const char*, const char*>, 11> kTidy{{{" .", "."},
                                                                              {" ?", "?"},
                                                                              {" !", "!"},
                                                                              {" ,", ","},
                                                                              {" ' ", "'"},
                                                                              {" n't", "n't"},
                                                                              {" 'm", "'m"},
                                                                              {" do not", " don't"},
                                                                              {" 's", "'s"},
                                                                              {" 've", "'ve"},
                                                                              {" 're", "'re"}}};
  const std::string prefix = reader.text("prefix", "##");
  const bool tidies = reader.flag("cleanup", true);
  return by_token([prefix, tidies](std::string& token, std::size_t place) {
    if (place > 0) {
      if (token.starts_with(prefix)) {
        token.erase(0, prefix.size());
      } else {
        token = " " + token;
      }
    }
    if (!tidies) return;
    for (const auto& [from, to] : kTidy) replace_all(token, from, to);
  });
}

Decoder read_metaspace(JsonReader& reader) {
  const Metaspace metaspace = read_metaspace_keys(reader);
  return by_token([metaspace](std::string& token, std::size_t place) {
    const bool is_dropped = place == 0 && metaspace.scheme != Metaspace::Scheme::kNever;
    replace_all(token, metaspace.mark, is_dropped ? "" : " ");
  });
}

/// The byte of "<0x0A>"; -1 of any other token.
int byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = -1;
  const char* const end = token.data() + 5;
  const auto [stop, error] = std::from_chars(token.data() + 3, end, byte, 16);
  return error == std::errc() && stop == end ? byte : -1;
}

Decoder read_byte_fallback(JsonReader&) {
  return [](const Tokens& tokens, bool whole) {
    Tokens texts;
    std::string bytes;
    const auto end_bytes = [&] {
      if (bytes.empty()) return;
      if (!whole || utf8::is_valid(bytes)) {
        texts.push_back(bytes);
      } else {
        texts.insert(texts.end(), bytes.size(), std::string(kReplacementCharacter));
      }
      bytes.clear();
    };
    for (const std::string& token : tokens) {
      const int byte = byte_of(token);
      if (byte < 0) {
        end_bytes();
        texts.push_back(token);
      } else {
        bytes += static_cast<char>(byte);
      }
    }
    end_bytes();
    return texts;
  };
}

Decoder read_fuse(JsonReader&) {
  return [](const Tokens& tokens, bool) { return Tokens{joined(tokens)}; };
}

Decoder read_strip(JsonReader& reader) {
  const std::string content = reader.character("content");
  const std::int64_t start = reader.number("start", 0, 1 << 20, 0);
  const std::int64_t stop = reader.number("stop", 0, 1 << 20, 0);
  return by_token([content, start, stop](std::string& token, std::size_t) {
    for (std::int64_t i = 0; i < start && token.starts_with(content); ++i) {
      token.erase(0, content.size());
    }
    for (std::int64_t i = 0; i < stop && token.ends_with(content); ++i) {
      token.resize(token.size() - content.size());
    }
  });
}

Decoder read_replace(JsonReader& reader) {
  const auto replace = replacing(read_pattern(reader, "pattern"), reader.text("content"));
  return by_token([replace](std::string& token, std::size_t) {
    if (utf8::is_valid(token)) token = replace(token);
  });
}

Decoder read_bpe(JsonReader& reader) {
  return [suffix = reader.text("suffix", "</w>")](Tokens tokens, bool) {
    for (std::string& token : tokens) {
      if (!suffix.empty()) replace_all(token, suffix, &token == &tokens.back() ? "" : " ");
    }
    return tokens;
  };
}

Decoder read_sequence(JsonReader& reader) {
  std::vector<Decoder> steps;
  for (JsonReader& step : reader.objects("decoders")) steps.push_back(read_decoder(step));
  return [steps = std::move(steps)](Tokens tokens, bool whole) {
    const std::size_t before = bytes_of(tokens);
    for (const Decoder& step : steps) {
      tokens = step(std::move(tokens), whole);
      check_growth("decoder", before, bytes_of(tokens));
    }
    return tokens;
  };
}

}  // namespace

Decoder read_decoder(JsonReader& reader) {
  using Read = Decoder (*)(JsonReader&);
  const Read read = reader.choose<Read>("type", "",
                                        {{"BPEDecoder", read_bpe},
                                         {"ByteFallback", read_byte_fallback},
                                         {"ByteLevel", read_byte_level},
                                         {"Fuse", read_fuse},
                                         {"Metaspace", read_metaspace},
                                         {"Replace", read_replace},
                                         {"Sequence", read_sequence},
                                         {"Strip", read_strip},
                                         {"WordPiece", read_word_piece}});
  Decoder decoder = read(reader);
  reader.finish();
  return decoder;
}

}  // namespace meshwork::data
