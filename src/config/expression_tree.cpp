#include "config/expression_tree.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/letters.h"
#include "base/quote.h"
#include "config/expression.h"

namespace meshwork::config {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxLength = 4096;  // every term may stand within the one before it

class Parser {
 public:
  Parser(std::string_view text, const Location& at) : text_(text), at_(at) { next(); }

  Expression whole() {
    if (text_.size() > kMaxLength) {
      complain("is longer than {} characters; compute a part of it in a parameter", kMaxLength);
    }
    Expression result = conditional();
    if (kind_ != Kind::kEnd) wrong("an operator");
    return result;
  }

 private:
  enum class Kind { kEnd, kNumber, kText, kWord, kSymbol };

  template <class... Args>
  [[noreturn]] void complain(fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(at_, "expression '{}': {}", excerpt(text_),
            fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void wrong(std::string_view wanted) const {
    if (kind_ == Kind::kEnd) complain("{} is missing at the end", wanted);
    complain("{} is wanted where '{}' stands", wanted, token_);
  }

  /// Reads the next token.
  void next() {
    while (end_ < text_.size() && text_[end_] == ' ') ++end_;
    const std::size_t begin = end_;
    if (begin == text_.size()) {
      kind_ = Kind::kEnd;
      token_ = {};
      return;
    }
    const char c = text_[begin];
    const auto run = [&](auto accepts) {
      while (end_ < text_.size() && accepts(text_[end_])) ++end_;
    };
    if (const std::size_t length = name_length(text_.substr(begin)); length > 0) {
      kind_ = Kind::kWord;
      end_ = begin + length;
    } else if (is_digit(c)) {
      kind_ = Kind::kNumber;
      const auto accepts = [](char d) { return is_name_part(d) || d == '.'; };
      run(accepts);
      // The sign of an exponent: 1e-3.
      const char last = text_[end_ - 1];
      const bool has_sign = (last == 'e' || last == 'E') && end_ < text_.size() &&
                            (text_[end_] == '-' || text_[end_] == '+');
      if (has_sign) {
        ++end_;
        run(accepts);
      }
    } else if (c == '\'' || c == '"') {
      kind_ = Kind::kText;
      end_ = text_.find(c, begin + 1);
      if (end_ == std::string_view::npos) complain("the quote {} is not closed", c);
      ++end_;
    } else {
      kind_ = Kind::kSymbol;
      end_ = begin + symbol_length(text_.substr(begin));
    }
    token_ = text_.substr(begin, end_ - begin);
  }

  std::size_t symbol_length(std::string_view rest) const {
    for (const char* two : {"**", "//", "==", "!=", "<=", ">="}) {
      if (rest.starts_with(two)) return 2;
    }
    if (std::string_view("+-*/%<>()[]").find(rest[0]) == std::string_view::npos) {
      complain("'{}' means nothing here", rest[0]);
    }
    return 1;
  }

  bool is(std::string_view token) const {
    return (kind_ == Kind::kSymbol || kind_ == Kind::kWord) && token_ == token;
  }
  bool take(std::string_view token) {
    if (!is(token)) return false;
    next();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) wrong(fmt::format("'{}'", token));
  }

  /// Moves the parts in, which a list of them would copy.
  template <class... Parts>
  static Expression apply(Operator op, Parts... parts) {
    Expression result;
    result.op = op;
    result.parts.reserve(sizeof...(parts));
    (result.parts.push_back(std::move(parts)), ...);
    return result;
  }

  Expression conditional() {
    if (++depth_ > kMaxDepth) complain("is nested more than {} deep", kMaxDepth);
    Expression result = binary(0);
    if (take("if")) {
      Expression condition = binary(0);
      expect("else");
      Expression otherwise = conditional();
      result = apply(Operator::kConditional, std::move(result), std::move(condition),
                     std::move(otherwise));
    }
    --depth_;
    return result;
  }

  using Level = std::vector<std::pair<std::string_view, Operator>>;

  /// Operators by how tightly they bind; those of a level from left to right.
  static const std::vector<Level>& levels() {
    static const std::vector<Level> kLevels = {{{"or", Operator::kOr}},
                                               {{"and", Operator::kAnd}},
                                               {{"==", Operator::kEqual},
                                                {"!=", Operator::kNotEqual},
                                                {"<", Operator::kLess},
                                                {"<=", Operator::kLessEqual},
                                                {">", Operator::kGreater},
                                                {">=", Operator::kGreaterEqual}},
                                               {{"+", Operator::kAdd}, {"-", Operator::kSubtract}},
                                               {{"*", Operator::kMultiply},
                                                {"//", Operator::kFloorDivide},
                                                {"/", Operator::kDivide},
                                                {"%", Operator::kModulo}}};
    return kLevels;
  }

  Expression binary(std::size_t level) {
    constexpr std::size_t kComparison = 2;
    if (level == levels().size()) return prefix();
    if (level == kComparison && is("not")) {
      next();
      if (++depth_ > kMaxDepth) complain("is nested more than {} deep", kMaxDepth);
      Expression result = apply(Operator::kNot, binary(level));
      --depth_;
      return result;
    }
    Expression left = binary(level + 1);
    while (true) {
      const Level& row = levels()[level];
      const auto found =
          std::find_if(row.begin(), row.end(), [&](const auto& known) { return is(known.first); });
      if (found == row.end()) return left;
      next();
      Expression right = binary(level + 1);
      left = apply(found->second, std::move(left), std::move(right));
    }
  }

  Expression prefix() {
    if (!take("-")) return power();
    if (++depth_ > kMaxDepth) complain("is nested more than {} deep", kMaxDepth);
    Expression result = apply(Operator::kNegate, prefix());
    --depth_;
    return result;
  }

  /// Binds more tightly than the sign before it, and from right to left.
  Expression power() {
    Expression base = element();
    if (!take("**")) return base;
    if (++depth_ > kMaxDepth) complain("is nested more than {} deep", kMaxDepth);
    Expression result = apply(Operator::kPower, std::move(base), prefix());
    --depth_;
    return result;
  }

  Expression element() {
    Expression result = primary();
    while (take("[")) {
      result = apply(Operator::kElement, std::move(result), conditional());
      expect("]");
    }
    return result;
  }

  Expression primary() {
    if (take("(")) {
      Expression inner = conditional();
      expect(")");
      return inner;
    }
    if (take("len")) {
      expect("(");
      Expression list = conditional();
      expect(")");
      return apply(Operator::kLength, std::move(list));
    }
    const bool literal = is("true") || is("false") || is("null");
    if (kind_ == Kind::kNumber || kind_ == Kind::kText || literal) return take_literal();
    if (kind_ != Kind::kWord || is_expression_word(token_)) wrong("a value");
    Expression name = apply(Operator::kName);
    name.name = token_;
    next();
    return name;
  }

  Expression take_literal() {
    Expression result = apply(Operator::kLiteral);
    result.literal.at = at_;
    if (!is("null")) result.literal.kind = Value::Kind::kScalar;
    result.literal.scalar = token_;
    if (kind_ == Kind::kText) {
      result.literal.scalar = token_.substr(1, token_.size() - 2);
      result.literal.quoted = true;
    } else if (kind_ == Kind::kNumber && !result.literal.is_real()) {
      complain("'{}' is no number", token_);
    }
    next();
    return result;
  }

  std::string_view text_;
  const Location& at_;
  std::size_t end_ = 0;  ///< of the token
  Kind kind_ = Kind::kEnd;
  std::string_view token_;
  int depth_ = 0;
};

}  // namespace

bool is_expression_word(std::string_view word) {
  constexpr std::array kWords = {"and", "else", "false", "if", "len", "not", "null", "or", "true"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

Expression parse_expression(std::string_view text, const Location& at) {
  return Parser(text, at).whole();
}

}  // namespace meshwork::config
