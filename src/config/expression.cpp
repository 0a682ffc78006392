#include "config/expression.h"

#include <cmath>
#include <limits>

#include "base/nearest.h"
#include "base/quote.h"
#include "config/expression_tree.h"

namespace meshwork::config {
namespace {

constexpr std::int64_t kNoInteger = std::numeric_limits<std::int64_t>::min();

/// Computes one expression; all errors are at its place.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Parameters& parameters, const Location& at)
      : text_(text), parameters_(parameters), at_(at) {}

  /// "1 + 1 + 1" is as deep as it is long, to the left: that way goes without recursion.
  Value value(const Expression& e) const {
    std::vector<const Expression*> outer;
    const Expression* first = &e;
    for (; has_left(*first); first = &first->parts[0]) outer.push_back(first);
    Value result = value_of_first(*first);
    for (auto next = outer.rbegin(); next != outer.rend(); ++next) {
      result = value_of(**next, result);
    }
    return result;
  }

 private:
  /// Whether it takes a value from its left, the first of two parts.
  static bool has_left(const Expression& e) { return e.parts.size() == 2; }

  Value value_of_first(const Expression& e) const {
    if (e.op == "literal") return e.literal;
    if (e.op == "name") return parameter(e.name);
    if (e.op == "if") return value(truth(value(e.parts[1])) ? e.parts[0] : e.parts[2]);
    const Value part = value(e.parts[0]);
    if (e.op == "not") return boolean(!truth(part));
    if (e.op == "len") return integer(static_cast<std::int64_t>(list(part).size()));
    return arithmetic("-", integer(0), part);  // negate
  }

  Value value_of(const Expression& e, const Value& left) const {
    if (e.op == "and") return boolean(truth(left) && truth(value(e.parts[1])));
    if (e.op == "or") return boolean(truth(left) || truth(value(e.parts[1])));
    const Value right = value(e.parts[1]);
    if (e.op == "list[]") return element(left, right);
    if (e.op == "==") return boolean(equal(left, right));
    if (e.op == "!=") return boolean(!equal(left, right));
    if (e.op[0] == '<' || e.op[0] == '>') return compare(e.op, left, right);
    return arithmetic(e.op, left, right);
  }

  template <class... Args>
  [[noreturn]] void complain(fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(at_, "expression '{}': {}", excerpt(text_),
            fmt::format(format, std::forward<Args>(args)...));
  }

  Value scalar(std::string text) const { return Value::of_text(std::move(text), at_); }
  Value boolean(bool truth) const { return scalar(truth ? "true" : "false"); }
  Value integer(std::int64_t number) const { return scalar(std::to_string(number)); }
  Value real(double number) const {
    if (!std::isfinite(number)) complain("the result is not finite");
    return scalar(fmt::format("{}", number));
  }

  Value parameter(const std::string& name) const {
    const auto found = parameters_.find(name);
    if (found != parameters_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [word, ignored] : parameters_) known.push_back(word);
    complain("there is no parameter '{}'{}", name, suggestion(name, known));
  }

  bool truth(const Value& found) const {
    if (!found.is_bool()) complain("{} is neither true nor false", describe(found));
    return found.as_bool("a condition");
  }

  const std::vector<Value>& list(const Value& found) const {
    if (!found.is_list()) complain("{} is no list", describe(found));
    return found.list;
  }

  Value element(const Value& from, const Value& index) const {
    const auto count = static_cast<std::int64_t>(list(from).size());
    if (!index.is_integer()) complain("{} is no place in a list", describe(index));
    const std::int64_t i = index.as_integer("an index");
    if (i < -count || i >= count) {
      complain("there is no element {} in a list of {}, counted from 0", i, count);
    }
    return from.list[static_cast<std::size_t>(i < 0 ? i + count : i)];
  }

  double number(const Value& found) const {
    if (!is_number(found)) complain("{} is no number", describe(found));
    return found.as_real("a number");
  }
  static bool is_number(const Value& found) {
    return found.is_real() && std::isfinite(found.is_integer() ? 0 : to_double(found));
  }
  static double to_double(const Value& found) { return std::strtod(found.scalar.c_str(), nullptr); }

  bool equal(const Value& a, const Value& b) const {
    if (a.is_list() || a.is_map() || b.is_list() || b.is_map()) {
      complain("lists and maps cannot be compared");
    }
    if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
    if (is_number(a) && is_number(b)) return sign_of_difference(a, b) == 0;
    if (a.is_bool() && b.is_bool()) return a.as_bool("") == b.as_bool("");
    const bool both_words = !is_number(a) && !is_number(b) && !a.is_bool() && !b.is_bool();
    return both_words && a.scalar == b.scalar;
  }

  int sign_of_difference(const Value& a, const Value& b) const {
    if (a.is_integer() && b.is_integer()) {
      const std::int64_t x = a.as_integer(""), y = b.as_integer("");
      return int{x > y} - int{x < y};
    }
    const double x = number(a), y = number(b);
    return int{x > y} - int{x < y};
  }

  Value compare(std::string_view op, const Value& a, const Value& b) const {
    number(a);
    number(b);
    const int sign = sign_of_difference(a, b);
    const bool strict = op[0] == '<' ? sign < 0 : sign > 0;
    return boolean(strict || (op.size() == 2 && sign == 0));
  }

  Value arithmetic(const std::string& op, const Value& a, const Value& b) const {
    const double x = number(a), y = number(b);
    const bool divides = op == "/" || op == "//" || op == "%";
    if (divides && y == 0) complain("division by zero");
    if (a.is_integer() && b.is_integer()) {
      const std::int64_t result = on_integers(op, a.as_integer(""), b.as_integer(""));
      if (result != kNoInteger) return integer(result);
    }
    if (op == "+") return real(x + y);
    if (op == "-") return real(x - y);
    if (op == "*") return real(x * y);
    if (op == "/") return real(x / y);
    if (op == "//") return real(std::floor(x / y));
    if (op == "%") return real(x - y * std::floor(x / y));
    return real(std::pow(x, y));
  }

  /// kNoInteger where the result is none.
  std::int64_t on_integers(const std::string& op, std::int64_t x, std::int64_t y) const {
    std::int64_t result = 0;
    bool overflow = false;
    if (op == "+") overflow = __builtin_add_overflow(x, y, &result);
    if (op == "-") overflow = __builtin_sub_overflow(x, y, &result);
    if (op == "*") overflow = __builtin_mul_overflow(x, y, &result);
    if (op == "**" && y < 0) return kNoInteger;
    if (op == "**") overflow = !power(x, y, result);
    if (op == "/" || op == "//" || op == "%") {
      if (y == -1) {  // the least integer has no opposite
        overflow = __builtin_sub_overflow(std::int64_t{0}, x, &result);
        if (op == "%") return 0;
      } else {
        const std::int64_t rest = x % y;
        const bool rounds_up = rest != 0 && (rest < 0) != (y < 0);
        if (op == "/" && rest != 0) return kNoInteger;
        result = op == "%" ? rest + (rounds_up ? y : 0) : x / y - (rounds_up ? 1 : 0);
      }
    }
    if (overflow || result == kNoInteger) complain("an integer has more than 63 bits");
    return result;
  }

  static bool power(std::int64_t base, std::int64_t exponent, std::int64_t& result) {
    constexpr std::int64_t kBits = 64;
    if (base >= -1 && base <= 1) exponent = exponent == 0 ? 0 : 2 - exponent % 2;
    if (exponent > kBits) return false;
    result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {
      if (__builtin_mul_overflow(result, base, &result)) return false;
    }
    return true;
  }

  std::string_view text_;
  const Parameters& parameters_;
  const Location& at_;
};

}  // namespace

Value evaluate(std::string_view expression, const Parameters& parameters, const Location& at) {
  const Expression tree = parse_expression(expression, at);
  Value result = Evaluator(expression, parameters, at).value(tree);
  result.at = at;
  return result;
}

}  // namespace meshwork::config
