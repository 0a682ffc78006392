#include "config/parameters.h"

#include "base/letters.h"
#include "base/quote.h"
#include "config/expression.h"

namespace meshwork::config {
namespace {

/// Length up to the parenthesis that closes the one at the start of `text`, both included.
std::size_t bracket_length(std::string_view text, const Value& word) {
  int open = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    if (c == '(') ++open;
    if (c == ')' && --open == 0) return i + 1;
  }
  fail_at(word.at, "'{}': the parenthesis after '$' is not closed", excerpt(word.scalar));
}

/// A piece of a word: text, or what a parameter or an expression stands for.
struct Piece {
  std::string text;
  Value inserted;
  bool is_inserted = false;
};

/// Takes the piece at the start of `rest`, which begins with '$', off it.
Piece take_insertion(std::string_view& rest, const Value& word, const Parameters& parameters) {
  rest.remove_prefix(1);
  if (rest.starts_with('$')) {
    rest.remove_prefix(1);
    return {"$", {}, false};
  }
  Piece piece;
  piece.is_inserted = true;
  std::size_t length = name_length(rest);
  if (length > 0) {
    piece.inserted = evaluate(rest.substr(0, length), parameters, word.at);
  } else if (rest.starts_with('(')) {
    length = bracket_length(rest, word);
    piece.inserted = evaluate(rest.substr(1, length - 2), parameters, word.at);
  } else {
    fail_at(word.at,
            "'{}': a parameter is written $name, an expression $(name * 2), and a dollar sign $$",
            excerpt(word.scalar));
  }
  rest.remove_prefix(length);
  return piece;
}

std::vector<Piece> pieces_of(const Value& word, const Parameters& parameters) {
  std::vector<Piece> pieces;
  std::string_view rest = word.scalar;
  while (!rest.empty()) {
    if (rest[0] == '$') {
      pieces.push_back(take_insertion(rest, word, parameters));
      continue;
    }
    const std::size_t length = std::min(rest.find('$'), rest.size());
    pieces.push_back({std::string(rest.substr(0, length)), {}, false});
    rest.remove_prefix(length);
  }
  return pieces;
}

/// One call of substitute: parameters of parameters could stand for any number of values.
class Substitution {
 public:
  explicit Substitution(const Parameters& parameters) : parameters_(parameters) {}

  Value apply(const Value& value) {
    if (value.is_scalar()) return word(value);
    Value result = value;
    for (Value& item : result.list) item = apply(item);
    result.map.clear();
    for (const Value::Entry& entry : value.map) {
      const Value key = Value::of_text(entry.key, entry.at);
      const std::string name = word(key).as_string("a key");
      if (result.find(name) != nullptr) {
        fail_at(entry.at, "key '{}' stands twice; remove one", name);
      }
      result.map.push_back({name, entry.at, apply(entry.value)});
    }
    return result;
  }

 private:
  Value word(const Value& value) {
    if (value.scalar.find('$') == std::string::npos) return value;
    const std::vector<Piece> pieces = pieces_of(value, parameters_);
    for (const Piece& piece : pieces) count(piece, value);
    if (pieces.size() == 1 && pieces[0].is_inserted) return pieces[0].inserted;
    Value result = value;
    result.scalar.clear();
    for (const Piece& piece : pieces) {
      if (piece.is_inserted && !piece.inserted.is_scalar()) {
        fail_at(value.at, "'{}': {} cannot stand within a word", excerpt(value.scalar),
                describe(piece.inserted));
      }
      result.scalar += piece.is_inserted ? piece.inserted.scalar : piece.text;
    }
    return result;
  }

  void count(const Piece& piece, const Value& value) {
    constexpr std::size_t kMost = 1'000'000;
    size_ += size_of(piece.inserted);
    if (size_ > kMost) {
      fail_at(value.at, "'{}': the parameters stand for more than a million values",
              excerpt(value.scalar));
    }
  }

  const Parameters& parameters_;
  std::size_t size_ = 0;
};

}  // namespace

std::size_t size_of(const Value& value) {
  std::size_t size = 1 + value.scalar.size();
  for (const Value& item : value.list) size += size_of(item);
  for (const Value::Entry& entry : value.map) size += entry.key.size() + size_of(entry.value);
  return size;
}

Value substitute(const Value& value, const Parameters& parameters) {
  return Substitution(parameters).apply(value);
}

void check_parameter_name(std::string_view name, const Location& at, std::string_view what) {
  if (!is_name(name)) {
    fail_at(at, "{}: parameter '{}' must be of letters, digits and '_', and not begin with a digit",
            what, name);
  }
  if (is_expression_word(name) || name == "index") {
    fail_at(at, "{}: a parameter cannot be called '{}', a word of expressions; rename it", what,
            name);
  }
}

}  // namespace meshwork::config
