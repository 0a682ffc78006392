#include "config/rearrangement.h"

#include <algorithm>
#include <cctype>

#include "base/letters.h"

namespace meshwork::config {
namespace {

constexpr std::string_view kArrow = "->";

/// Words, and each bracket as a word of its own.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    const bool is_bracket = c == '(' || c == ')';
    if (is_bracket || (!is_space && !in_word)) {
      words.emplace_back(1, c);
    } else if (!is_space) {
      words.back() += c;
    }
    in_word = !is_space && !is_bracket;
  }
  return words;
}

class Parser {
 public:
  Parser(const Value& value, std::string what)
      : at_(value.at), what_(std::move(what)), text_(value.as_string(what_)) {}

  Rearrangement parse() {
    const std::size_t arrow = text_.find(kArrow);
    if (arrow == std::string::npos || text_.find(kArrow, arrow + 1) != std::string::npos) {
      refuse("has no one '->' between the dimensions in the file and those of the variable");
    }
    const std::string_view text = text_;
    Rearrangement result{text_, read_side(text.substr(0, arrow)), {}, {}};
    for (const auto& names : read_side(text.substr(arrow + kArrow.size()))) {
      if (names.size() != 1)
        refuse("merges dimensions of the file; name each by itself behind '->'");
      result.variable.push_back(names.front());
    }
    find_part(result);
    return result;
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(at_, "{}: '{}' {}", what_, text_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::vector<std::vector<std::string>> read_side(std::string_view side) const {
    std::vector<std::vector<std::string>> dims;
    std::vector<std::string> seen;
    bool is_open = false;
    for (const std::string& word : words_of(side)) {
      if (word == "(" || word == ")") {
        if (is_open == (word == "(")) refuse("has a bracket too many");
        is_open = word == "(";
        if (is_open) dims.emplace_back();
        if (!is_open && dims.back().empty()) refuse("has nothing in brackets; write 1");
        continue;
      }
      if (!std::all_of(word.begin(), word.end(), is_name_part))
        refuse("has the word '{}'; a dimension is a name, or 1", word);
      const bool is_again = std::find(seen.begin(), seen.end(), word) != seen.end();
      if (is_again && word != Rearrangement::kOne) refuse("has '{}' twice on one side", word);
      seen.push_back(word);
      if (!is_open) dims.emplace_back();
      dims.back().push_back(word);
    }
    if (is_open) refuse("has a bracket too many");
    return dims;
  }

  void find_part(Rearrangement& result) const {
    std::vector<std::string> stored;
    for (const auto& names : result.stored) stored.insert(stored.end(), names.begin(), names.end());
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const std::string& name : result.variable) {
      if (name != Rearrangement::kOne && !has(stored, name)) {
        refuse("has '{}' behind '->' alone", name);
      }
    }
    for (const std::string& name : stored) {
      if (name == Rearrangement::kOne || has(result.variable, name)) continue;
      if (!result.part.empty()) {
        refuse("has both '{}' and '{}' before '->' alone; one may be the parts of the tensor",
               result.part, name);
      }
      result.part = name;
    }
  }

  Location at_;
  std::string what_;
  std::string text_;
};

}  // namespace

Rearrangement read_rearrangement(const Value& value, const std::string& what) {
  return Parser(value, what).parse();
}

}  // namespace meshwork::config
