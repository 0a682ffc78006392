#include "config/expression.h"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "config/expression_tree.h"

namespace meshwork::config {
namespace {

/// What an operator gives for integers; none where that is no integer.
using MaybeInteger = std::optional<std::int64_t>;

/// Whether C++, which cuts the fraction of x / y off, rounds it up.
bool is_rounded_up(std::int64_t x, std::int64_t y) { return x % y != 0 && (x < 0) != (y < 0); }

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
    Value result = value_of(*first, {});
    for (auto next = outer.rbegin(); next != outer.rend(); ++next) {
      result = value_of(**next, result);
    }
    return result;
  }

 private:
  /// Whether it takes a value from its left, the first of two parts.
  static bool has_left(const Expression& e) { return e.parts.size() == 2; }

  /// `left` is the value of the first of two parts.
  Value value_of(const Expression& e, const Value& left) const {
    const auto part = [&](std::size_t i) { return value(e.parts[i]); };
    switch (e.op) {
      case Operator::kLiteral:
        return e.literal;
      case Operator::kName:
        return parameter(e.name);
      case Operator::kConditional:
        return part(truth(part(1)) ? 0 : 2);
      case Operator::kNot:
        return boolean(!truth(part(0)));
      case Operator::kNegate:
        return subtract(integer(0), part(0));
      case Operator::kLength:
        return integer(std::ssize(list(part(0))));
      case Operator::kOr:
        return boolean(truth(left) || truth(part(1)));
      case Operator::kAnd:
        return boolean(truth(left) && truth(part(1)));
      case Operator::kEqual:
        return boolean(equal(left, part(1)));
      case Operator::kNotEqual:
        return boolean(!equal(left, part(1)));
      case Operator::kLess:
        return boolean(order(left, part(1)) < 0);
      case Operator::kLessEqual:
        return boolean(order(left, part(1)) <= 0);
      case Operator::kGreater:
        return boolean(order(left, part(1)) > 0);
      case Operator::kGreaterEqual:
        return boolean(order(left, part(1)) >= 0);
      case Operator::kAdd:
        return add(left, part(1));
      case Operator::kSubtract:
        return subtract(left, part(1));
      case Operator::kMultiply:
        return multiply(left, part(1));
      case Operator::kDivide:
        return divide(left, part(1));
      case Operator::kFloorDivide:
        return floor_divide(left, part(1));
      case Operator::kModulo:
        return modulo(left, part(1));
      case Operator::kPower:
        return power(left, part(1));
      case Operator::kElement:
        return element(left, part(1));
    }
    MW_CHECK(false, "operator {}", static_cast<int>(e.op));
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
    if (is_number(a) && is_number(b)) return order(a, b) == 0;
    if (a.is_bool() && b.is_bool()) return a.as_bool("") == b.as_bool("");
    const bool both_words = !is_number(a) && !is_number(b) && !a.is_bool() && !b.is_bool();
    return both_words && a.scalar == b.scalar;
  }

  /// Less than 0, 0 or more, as the number `a` is less than `b`, equal or greater.
  int order(const Value& a, const Value& b) const {
    const double x = number(a), y = number(b);
    if (a.is_integer() && b.is_integer()) {
      const std::int64_t i = a.as_integer(""), j = b.as_integer("");
      return int{i > j} - int{i < j};
    }
    return int{x > y} - int{x < y};
  }

  /// Of two integers what `on_integers` gives, if anything; else what `on_reals` gives.
  template <class OnIntegers, class OnReals>
  Value arithmetic(const Value& a, const Value& b, OnIntegers on_integers, OnReals on_reals) const {
    const double x = number(a), y = number(b);
    if (a.is_integer() && b.is_integer()) {
      const MaybeInteger result = on_integers(a.as_integer(""), b.as_integer(""));
      if (result) return integer(*result);
    }
    return real(on_reals(x, y));
  }

  /// The least integer, which has no opposite, counts as too long.
  std::int64_t checked(bool overflow, std::int64_t result) const {
    if (overflow || result == std::numeric_limits<std::int64_t>::min()) {
      complain("an integer has more than 63 bits");
    }
    return result;
  }

  std::int64_t difference(std::int64_t x, std::int64_t y) const {
    std::int64_t result = 0;
    const bool overflow = __builtin_sub_overflow(x, y, &result);
    return checked(overflow, result);
  }

  Value add(const Value& a, const Value& b) const {
    const auto on_integers = [&](std::int64_t x, std::int64_t y) {
      std::int64_t result = 0;
      const bool overflow = __builtin_add_overflow(x, y, &result);
      return checked(overflow, result);
    };
    return arithmetic(a, b, on_integers, std::plus());
  }

  Value subtract(const Value& a, const Value& b) const {
    const auto on_integers = [&](std::int64_t x, std::int64_t y) { return difference(x, y); };
    return arithmetic(a, b, on_integers, std::minus());
  }

  Value multiply(const Value& a, const Value& b) const {
    const auto on_integers = [&](std::int64_t x, std::int64_t y) {
      std::int64_t result = 0;
      const bool overflow = __builtin_mul_overflow(x, y, &result);
      return checked(overflow, result);
    };
    return arithmetic(a, b, on_integers, std::multiplies());
  }

  void check_division(const Value& a, const Value& b) const {
    number(a);
    if (number(b) == 0) complain("division by zero");
  }

  Value divide(const Value& a, const Value& b) const {
    check_division(a, b);
    const auto on_integers = [&](std::int64_t x, std::int64_t y) -> MaybeInteger {
      if (y == -1) return difference(0, x);  // x / y could overflow
      if (x % y != 0) return std::nullopt;
      return checked(false, x / y);
    };
    return arithmetic(a, b, on_integers, std::divides());
  }

  Value floor_divide(const Value& a, const Value& b) const {
    check_division(a, b);
    const auto on_integers = [&](std::int64_t x, std::int64_t y) {
      if (y == -1) return difference(0, x);
      return checked(false, x / y - (is_rounded_up(x, y) ? 1 : 0));
    };
    return arithmetic(a, b, on_integers, [](double x, double y) { return std::floor(x / y); });
  }

  Value modulo(const Value& a, const Value& b) const {
    check_division(a, b);
    const auto on_integers = [](std::int64_t x, std::int64_t y) {
      if (y == -1) return std::int64_t{0};
      return x % y + (is_rounded_up(x, y) ? y : 0);
    };
    return arithmetic(a, b, on_integers,
                      [](double x, double y) { return x - y * std::floor(x / y); });
  }

  Value power(const Value& a, const Value& b) const {
    const auto on_integers = [&](std::int64_t x, std::int64_t y) -> MaybeInteger {
      if (y < 0) return std::nullopt;
      std::int64_t result = 0;
      const bool overflow = !raise(x, y, result);
      return checked(overflow, result);
    };
    return arithmetic(a, b, on_integers, [](double x, double y) { return std::pow(x, y); });
  }

  /// False where the result is too long.
  static bool raise(std::int64_t base, std::int64_t exponent, std::int64_t& result) {
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
