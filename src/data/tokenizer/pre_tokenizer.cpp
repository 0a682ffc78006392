#include "data/tokenizer/pre_tokenizer.h"

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/metaspace.h"
#include "data/tokenizer/split.h"
#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

constexpr const char* kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

MatchFate read_fate(JsonReader& reader, std::string_view otherwise) {
  return reader.choose<MatchFate>("behavior", otherwise,
                                  {{"Removed", MatchFate::kRemoved},
                                   {"Isolated", MatchFate::kIsolated},
                                   {"MergedWithPrevious", MatchFate::kMergedWithPrevious},
                                   {"MergedWithNext", MatchFate::kMergedWithNext},
                                   {"Contiguous", MatchFate::kContiguous}});
}

/// One after the other: each cuts the parts of the one before it.
PreTokenizer in_sequence(std::vector<PreTokenizer> steps) {
  if (steps.size() == 1) return std::move(steps.front());
  PreTokenizer chain = [](const Piece& piece, const PieceSink& sink) { sink(piece); };
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const bool is_last = step == steps.rbegin();
    if (is_last) {
      chain = std::move(*step);
      continue;
    }
    chain = [first = std::move(*step), rest = std::move(chain)](const Piece& piece,
                                                                const PieceSink& sink) {
      first(piece, [&](const Piece& part) { rest(part, sink); });
    };
  }
  return chain;
}

PreTokenizer read_byte_level(JsonReader& reader) {
  const bool adds_space = reader.flag("add_prefix_space", true);
  reader.flag("trim_offsets", true);  // of places in the text, which nobody asks for
  PreTokenizer cut;
  if (reader.flag("use_regex", true)) {
    cut = split_at(each_regex(kGpt2, reader.place()), MatchFate::kIsolated);
  }
  return [adds_space, cut = std::move(cut)](const Piece& piece, const PieceSink& sink) {
    std::string letters, spaced;
    const PieceSink give = [&](const Piece& part) {
      letters.clear();
      append_as_letters(part.text, letters);
      sink({letters, part.begins_the_text});
    };
    Piece whole = piece;
    if (adds_space && !piece.text.starts_with(' ')) {
      spaced = " " + std::string(piece.text);
      whole.text = spaced;
    }
    cut ? cut(whole, give) : give(whole);
  };
}

PreTokenizer read_split(JsonReader& reader) {
  const MatchFate fate = read_fate(reader, "");
  return split_at(read_pattern(reader, "pattern"), fate, reader.flag("invert", false));
}

bool is_between_words(char32_t c) { return !is_word(c) && !is_space(c); }

/// \w+|[^\w\s]+
PreTokenizer read_whitespace(JsonReader&) {
  return in_sequence({split_at(each_character(is_space), MatchFate::kRemoved),
                      split_at(each_character(is_between_words), MatchFate::kContiguous)});
}

PreTokenizer read_whitespace_split(JsonReader&) {
  return split_at(each_character(is_space), MatchFate::kRemoved);
}

PreTokenizer read_bert(JsonReader&) {
  return in_sequence({split_at(each_character(is_space), MatchFate::kRemoved),
                      split_at(each_character(is_punctuation), MatchFate::kIsolated)});
}

PreTokenizer read_digits(JsonReader& reader) {
  const bool by_digit = reader.flag("individual_digits", false);
  return split_at(each_character(is_number),
                  by_digit ? MatchFate::kIsolated : MatchFate::kContiguous);
}

PreTokenizer read_punctuation(JsonReader& reader) {
  return split_at(each_character(is_punctuation), read_fate(reader, "Isolated"));
}

PreTokenizer read_delimiter(JsonReader& reader) {
  return split_at(each_literal(reader.character("delimiter")), MatchFate::kRemoved);
}

/// A blank becomes a mark that stays with the word behind it.
PreTokenizer read_metaspace(JsonReader& reader) {
  const Metaspace metaspace = read_metaspace_keys(reader);
  const auto blanks = replacing(each_literal(" "), metaspace.mark);
  PreTokenizer cut;
  if (metaspace.splits) cut = split_at(each_literal(metaspace.mark), MatchFate::kMergedWithNext);
  return [metaspace, blanks, cut](const Piece& piece, const PieceSink& sink) {
    std::string marked = blanks(piece.text);
    const bool is_put_before =
        metaspace.scheme == Metaspace::Scheme::kAlways ||
        (metaspace.scheme == Metaspace::Scheme::kFirst && piece.begins_the_text);
    if (is_put_before && !marked.starts_with(metaspace.mark)) marked = metaspace.mark + marked;
    const Piece whole{marked, piece.begins_the_text};
    cut ? cut(whole, sink) : sink(whole);
  };
}

PreTokenizer read_sequence(JsonReader& reader) {
  std::vector<PreTokenizer> steps;
  for (JsonReader& step : reader.objects("pretokenizers")) {
    steps.push_back(read_pre_tokenizer(step));
  }
  return in_sequence(std::move(steps));
}

}  // namespace

PreTokenizer read_pre_tokenizer(JsonReader& reader) {
  using Read = PreTokenizer (*)(JsonReader&);
  const Read read = reader.choose<Read>("type", "",
                                        {{"BertPreTokenizer", read_bert},
                                         {"ByteLevel", read_byte_level},
                                         {"CharDelimiterSplit", read_delimiter},
                                         {"Digits", read_digits},
                                         {"Metaspace", read_metaspace},
                                         {"Punctuation", read_punctuation},
                                         {"Sequence", read_sequence},
                                         {"Split", read_split},
                                         {"Whitespace", read_whitespace},
                                         {"WhitespaceSplit", read_whitespace_split}});
  PreTokenizer pre_tokenizer = read(reader);
  reader.finish();
  return pre_tokenizer;
}

}  // namespace meshwork::data
