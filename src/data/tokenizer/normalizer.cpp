#include "data/tokenizer/normalizer.h"

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/pattern.h"
#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

/// A normalizer that puts something in the place of each character.
template <class Append>
Normalizer by_character(const Append& append) {
  return [append](std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for_characters(text, [&](char32_t c, std::string_view bytes) { append(c, bytes, out); });
    return out;
  };
}

Normalizer without(bool (*is_dropped)(char32_t)) {
  return by_character([is_dropped](char32_t c, std::string_view bytes, std::string& out) {
    if (!is_dropped(c)) out += bytes;
  });
}

Normalizer in_sequence(std::vector<Normalizer> steps) {
  return [steps = std::move(steps)](std::string_view text) {
    std::string out(text);
    for (const Normalizer& step : steps) {
      out = step(out);
      check_growth("normalizer", text.size(), out.size());
    }
    return out;
  };
}

template <NormalForm kForm>
Normalizer read_form(JsonReader&) {
  return [](std::string_view text) { return normalized(text, kForm); };
}

Normalizer lowercase() {
  return by_character([](char32_t c, std::string_view, std::string& out) { append_lower(c, out); });
}

/// BERT's clean_text: no control characters, and blanks for all white space.
Normalizer clean() {
  return by_character([](char32_t c, std::string_view bytes, std::string& out) {
    constexpr char32_t kReplacementCharacter = 0xFFFD;
    if (c == kReplacementCharacter || is_control(c)) return;
    out += is_space(c) ? std::string_view(" ") : bytes;
  });
}

Normalizer ideographs_apart() {
  return by_character([](char32_t c, std::string_view bytes, std::string& out) {
    const bool is_apart = is_cjk(c);
    if (is_apart) out += ' ';
    out += bytes;
    if (is_apart) out += ' ';
  });
}

Normalizer read_bert(JsonReader& reader) {
  std::vector<Normalizer> steps;
  if (reader.flag("clean_text", true)) steps.push_back(clean());
  if (reader.flag("handle_chinese_chars", true)) steps.push_back(ideographs_apart());
  const bool lowers = reader.flag("lowercase", true);
  if (reader.flag("strip_accents", lowers)) {
    steps.push_back(read_form<NormalForm::kNfd>(reader));
    steps.push_back(without(is_nonspacing_mark));
  }
  if (lowers) steps.push_back(lowercase());
  return in_sequence(std::move(steps));
}

Normalizer read_replace(JsonReader& reader) {
  return replacing(read_pattern(reader, "pattern"), reader.text("content"));
}

Normalizer read_prepend(JsonReader& reader) {
  return [text = reader.text("prepend")](std::string_view before) {
    return before.empty() ? std::string() : text + std::string(before);
  };
}

Normalizer read_strip(JsonReader& reader) {
  const bool left = reader.flag("strip_left", true), right = reader.flag("strip_right", true);
  return [left, right](std::string_view text) {
    std::size_t begin = text.size(), end = 0;  // of what is no white space
    for_characters(text, [&](char32_t c, std::string_view bytes) {
      if (is_space(c)) return;
      const auto at = static_cast<std::size_t>(bytes.data() - text.data());
      begin = std::min(begin, at);
      end = at + bytes.size();
    });
    if (!left) begin = 0;
    if (!right) end = text.size();
    return std::string(text.substr(begin, end > begin ? end - begin : 0));
  };
}

Normalizer read_bytes(JsonReader&) {
  return [](std::string_view text) {
    std::string letters;
    append_as_letters(text, letters);
    return letters;
  };
}

Normalizer read_sequence(JsonReader& reader) {
  std::vector<Normalizer> steps;
  for (JsonReader& step : reader.objects("normalizers")) steps.push_back(read_normalizer(step));
  return in_sequence(std::move(steps));
}

}  // namespace

Normalizer read_normalizer(JsonReader& reader) {
  using Read = Normalizer (*)(JsonReader&);
  const Read read =
      reader.choose<Read>("type", "",
                          {
                              {"BertNormalizer", read_bert},
                              {"ByteLevel", read_bytes},
                              {"Lowercase", [](JsonReader&) { return lowercase(); }},
                              {"NFC", read_form<NormalForm::kNfc>},
                              {"NFD", read_form<NormalForm::kNfd>},
                              {"NFKC", read_form<NormalForm::kNfkc>},
                              {"NFKD", read_form<NormalForm::kNfkd>},
                              {"Prepend", read_prepend},
                              {"Replace", read_replace},
                              {"Sequence", read_sequence},
                              {"Strip", read_strip},
                              {"StripAccents", [](JsonReader&) { return without(is_mark); }},
                          });
  Normalizer normalizer = read(reader);
  reader.finish();
  return normalizer;
}

}  // namespace meshwork::data
