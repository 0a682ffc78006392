// Byte-pair encoding: of neighbours in a word those that come first in the list of merges become
// one, until none is in it.
#include <nlohmann/json.hpp>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/quote.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/unicode.h"
#include "data/tokenizer/unknown_token.h"

namespace meshwork::data {
namespace {

struct Merge {
  std::int32_t rank = 0;  ///< the least is carried out first
  std::int32_t token = 0;
};

/// The merges, by the pair of tokens that each joins.
class Merges {
 public:
  void add(std::int32_t left, std::int32_t right, Merge merge) {
    merges_[key(left, right)] = merge;
  }
  const Merge* find(std::int32_t left, std::int32_t right) const {
    const auto found = merges_.find(key(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }

 private:
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32U | static_cast<std::uint32_t>(right);
  }
  std::unordered_map<std::uint64_t, Merge> merges_;
};

/// The tokens of a word while they are merged: a list in which neighbours know each other.
class Word {
 public:
  Word(const Merges& merges, const std::vector<std::int32_t>& tokens) : merges_(merges) {
    const std::ptrdiff_t count = std::ssize(tokens);
    symbols_.reserve(tokens.size());
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      symbols_.push_back(
          {tokens[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : kNone});
    }
    for (std::ptrdiff_t i = 0; i < count; ++i) offer(i);
  }

  void merge() {
    while (!queue_.empty()) {
      const Offer top = queue_.top();
      queue_.pop();
      Symbol& left = at(top.place);
      if (left.token < 0 || left.next == kNone) continue;
      Symbol& right = at(left.next);
      const Merge* still = merges_.find(left.token, right.token);
      if (still == nullptr || still->token != top.token) continue;
      left.token = top.token;
      left.next = right.next;
      right.token = kGone;
      if (left.next != kNone) at(left.next).previous = top.place;
      if (left.previous != kNone) offer(left.previous);
      offer(top.place);
    }
  }

  void append_to(std::vector<std::int32_t>& tokens) const {
    for (const Symbol& symbol : symbols_) {
      if (symbol.token != kGone) tokens.push_back(symbol.token);
    }
  }

 private:
  static constexpr std::ptrdiff_t kNone = -1;
  static constexpr std::int32_t kGone = -1;

  struct Symbol {
    std::int32_t token;
    std::ptrdiff_t previous, next;
  };
  /// To merge the symbol at a place with the next one, into a token.
  struct Offer {
    std::int32_t rank;
    std::ptrdiff_t place;
    std::int32_t token;
    bool operator<(const Offer& other) const {  // the last of a priority_queue is the least
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };

  Symbol& at(std::ptrdiff_t place) { return symbols_[static_cast<std::size_t>(place)]; }

  void offer(std::ptrdiff_t place) {
    const Symbol& left = at(place);
    if (left.next == kNone) return;
    const Merge* merge = merges_.find(left.token, at(left.next).token);
    if (merge != nullptr) queue_.push({merge->rank, place, merge->token});
  }

  const Merges& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Offer> queue_;
};

/// Characters that stand beside each other in some token. No merge joins others, but for those on
/// both sides of characters that are left out.
class Neighbours {
 public:
  Neighbours(const TokenTable& table, bool leaves_out) : leaves_out_(leaves_out) {
    for (const std::string& token : table.texts()) {
      char32_t before = 0;
      for_characters(token, [&](char32_t c, std::string_view bytes) {
        pairs_.insert(key(before, c));
        before = c;
        if (bytes.size() == token.size()) tokens_.insert(c);
      });
    }
  }

  void cut(std::string_view word, const WordSink& sink) const {
    char32_t before = 0;
    const char* begin = word.data();
    const auto give = [&](const char* end) {
      if (end != begin) sink({begin, static_cast<std::size_t>(end - begin)});
      begin = end;
    };
    for_characters(word, [&](char32_t c, std::string_view bytes) {
      if (!pairs_.contains(key(before, c)) && stays(before) && stays(c)) give(bytes.data());
      before = c;
    });
    give(word.data() + word.size());
  }

 private:
  static std::uint64_t key(char32_t left, char32_t right) {
    return static_cast<std::uint64_t>(left) << 32U | right;
  }
  bool stays(char32_t c) const { return !leaves_out_ || tokens_.contains(c); }

  bool leaves_out_;
  std::unordered_set<std::uint64_t> pairs_;
  std::unordered_set<char32_t> tokens_;
};

class Bpe {
 public:
  explicit Bpe(JsonReader& reader)
      : table_(std::make_shared<const TokenTable>(read_table(reader, "vocab"))),
        prefix_(reader.text("continuing_subword_prefix", "")),
        suffix_(reader.text("end_of_word_suffix", "")),
        fuses_unknown_(reader.flag("fuse_unk", false)),
        falls_back_to_bytes_(reader.flag("byte_fallback", false)),
        ignores_merges_(reader.flag("ignore_merges", false)) {
    if (reader.find("unk_token") != nullptr) {
      unknown_ = {reader.text("unk_token"), reader.place_of("unk_token"), *table_};
    }
    const nlohmann::json* dropout = reader.find("dropout");
    if (dropout != nullptr && *dropout != 0.0) {
      reader.fail_at("dropout", "merges are not left out by chance here; make it null");
    }
    read_merges(reader);
  }

  const std::shared_ptr<const TokenTable>& table() const { return table_; }

  /// Whether the tokens of a word are those of its parts between characters that no merge joins.
  bool may_be_cut() const {
    if (!prefix_.empty() || !suffix_.empty()) return false;
    const bool is_unknown_alone = !fuses_unknown_ && !falls_back_to_bytes_;
    return !unknown_.is_given() || is_unknown_alone || has_bytes();
  }

  /// Whether characters that are no tokens are left out, so that those around them may be joined.
  bool leaves_out() const { return !unknown_.is_given() && !has_bytes(); }

  void operator()(std::string_view word, std::vector<std::int32_t>& tokens) const {
    if (ignores_merges_) {
      const std::int32_t whole = table_->find(word);
      if (whole >= 0) return tokens.push_back(whole);
    }
    Word merging(merges_, characters_of(word));
    merging.merge();
    merging.append_to(tokens);
  }

 private:
  /// Whether no character is unknown.
  bool has_bytes() const {
    std::string all(256, '\0');
    std::iota(all.begin(), all.end(), '\0');
    std::vector<std::int32_t> tokens;
    return append_bytes(all, tokens);
  }

  void read_merges(JsonReader& reader) {
    const nlohmann::json& list = reader.require("merges");
    if (!list.is_array()) reader.fail_at("merges", "must be a list");
    std::int32_t rank = 0;
    for (const nlohmann::json& merge : list) {
      const std::string place = fmt::format("{}[{}]", reader.place_of("merges"), rank);
      const auto [left, right] = pair_of(merge, place);
      if (!right.starts_with(prefix_)) {
        fail(ExitCode::kFile, "{}: '{}' does not begin with '{}'", place, excerpt(right), prefix_);
      }
      const std::int32_t first = table_->find(left, place), second = table_->find(right, place);
      const std::string whole = left + right.substr(prefix_.size());
      merges_.add(first, second, {rank, table_->find(whole, place)});
      ++rank;
    }
  }

  /// "a b" or ["a", "b"].
  static std::pair<std::string, std::string> pair_of(const nlohmann::json& merge,
                                                     const std::string& place) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const std::size_t blank = text.find(' ');
    if (blank == text.npos || text.find(' ', blank + 1) != text.npos) {
      fail(ExitCode::kFile, "{}: must be two tokens, \"a b\" or [\"a\", \"b\"]", place);
    }
    return {text.substr(0, blank), text.substr(blank + 1)};
  }

  /// The tokens of the characters of a word. A character that is no token becomes the tokens of its
  /// bytes, where there are such, else the unknown token, if there is one.
  std::vector<std::int32_t> characters_of(std::string_view word) const {
    std::vector<std::int32_t> tokens;
    std::string_view unknown;  // and not among the tokens yet
    const auto end_unknown = [&] {
      if (!unknown.empty()) tokens.push_back(unknown_.number(unknown));
      unknown = {};
    };
    for_characters(word, [&](char32_t, std::string_view bytes) {
      const std::string text = marked(word, bytes);
      const std::int32_t number = table_->find(text);
      if (number >= 0) {
        end_unknown();
        tokens.push_back(number);
      } else if (!append_bytes(text, tokens) && unknown_.is_given()) {
        if (!fuses_unknown_) end_unknown();
        unknown = bytes;
      }
    });
    end_unknown();
    return tokens;
  }

  /// A character as it stands in the table: with the prefix behind the first, and the suffix of the
  /// last one.
  std::string marked(std::string_view word, std::string_view character) const {
    std::string text;
    if (character.data() != word.data()) text += prefix_;
    text += character;
    if (character.data() + character.size() == word.data() + word.size()) text += suffix_;
    return text;
  }

  /// "<0xE4>" for each byte; false where these are not all tokens.
  bool append_bytes(const std::string& text, std::vector<std::int32_t>& tokens) const {
    if (!falls_back_to_bytes_) return false;
    const std::size_t before = tokens.size();
    for (const char byte : text) {
      const std::int32_t number =
          table_->find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)));
      if (number < 0) {
        tokens.resize(before);
        return false;
      }
      tokens.push_back(number);
    }
    return true;
  }

  std::shared_ptr<const TokenTable> table_;
  Merges merges_;
  std::string prefix_, suffix_;
  UnknownToken unknown_;
  bool fuses_unknown_, falls_back_to_bytes_, ignores_merges_;
};

}  // namespace

TokenModel read_bpe(JsonReader& reader) {
  const auto bpe = std::make_shared<const Bpe>(reader);
  TokenModel model{bpe->table(), [bpe](std::string_view word, std::vector<std::int32_t>& tokens) {
                     (*bpe)(word, tokens);
                   }};
  if (bpe->may_be_cut()) {
    model.cut = [neighbours = Neighbours(*bpe->table(), bpe->leaves_out())](
                    std::string_view word, const WordSink& sink) { neighbours.cut(word, sink); };
  }
  return model;
}

}  // namespace meshwork::data
