#include "model/layers/contraction.h"

#include <algorithm>

#include "base/error.h"
#include "base/join.h"
#include "base/letters.h"
#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork::layers {

/// Its letters, and where "..." stands.
struct EquationPart {
  std::vector<std::string> letters;
  bool dots_first = false;
  bool dots_last = false;
};

struct Equation {
  EquationPart x, kernel, y;
};

namespace {

using Factors = Contraction::Factors;

bool has(const Factors& factors, const std::string& name) {
  return std::find(factors.begin(), factors.end(), name) != factors.end();
}

class Parser {
 public:
  explicit Parser(const config::Value& value)
      : value_(value), text_(value.as_string("equation")), rest_(text_) {}

  Equation parse() {
    Equation equation;
    equation.x = part(",");
    equation.kernel = part("->");
    equation.y = part("");
    const bool is_known = !has_dots(equation.kernel) &&
                          equation.x.dots_first == equation.y.dots_first &&
                          equation.x.dots_last == equation.y.dots_last &&
                          !(equation.x.dots_first && equation.x.dots_last);
    if (!is_known) refuse();
    return equation;
  }

 private:
  static bool has_dots(const EquationPart& part) { return part.dots_first || part.dots_last; }

  [[noreturn]] void refuse() const {
    fail_at(value_.at,
            "equation '{}' is not known; write it as ab,bc->ac, ...b,bc->...c or ab...,bc->ac..., "
            "with each letter once in each part",
            text_);
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void skip_blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  /// Up to `end`, or the end of the text.
  EquationPart part(std::string_view end) {
    EquationPart result;
    skip_blanks();
    result.dots_first = take("...");
    for (;;) {
      skip_blanks();
      if (rest_.empty() ? end.empty() : !end.empty() && take(end)) break;
      if (!result.letters.empty() && !result.dots_last && take("...")) {
        result.dots_last = true;
        continue;
      }
      const char letter = rest_.empty() ? ' ' : rest_.front();
      if (!is_letter(letter) || result.dots_last || has(result.letters, std::string(1, letter)))
        refuse();
      result.letters.emplace_back(1, letter);
      rest_.remove_prefix(1);
    }
    if (result.letters.empty()) refuse();
    return result;
  }

  const config::Value& value_;
  std::string text_;
  std::string_view rest_;
};

}  // namespace

template <class... Args>
[[noreturn]] void Contraction::refuse(fmt::format_string<Args...> format, Args&&... args) const {
  fail_at(at_, "{}: equation '{}': {}", what_, text_,
          fmt::format(format, std::forward<Args>(args)...));
}

Contraction::Contraction(config::Reader& args, const Shape& x_shape)
    : at_(args.require("equation").at),
      what_(args.what()),
      text_(args.require("equation").as_string("equation")) {
  const Equation equation = Parser(args.require("equation")).parse();
  name_dimensions(equation, x_shape);
  read_output(args.require("output_shape"), equation.y);
  check_kernel();
}

Fans Contraction::fans() const {
  Fans fans;
  for (const std::string& name : kernel_) (has(y_, name) ? fans.out : fans.in) *= extents_.at(name);
  return fans;
}

Shape Contraction::bias_shape(const config::Value& axes) const {
  const std::string text = axes.as_string("bias_axes");
  Factors wanted;
  for (const char letter : text) wanted.emplace_back(1, letter);
  for (const std::string& name : wanted) {
    if (!has(y_, name) || name == y_[0]) {
      fail_at(axes.at, "bias_axes '{}': '{}' is no dimension of a sample of the output of '{}'",
              text, name, text_);
    }
  }
  Shape shape;
  for (const std::string& name : y_) {
    if (shape.empty() && !has(wanted, name)) continue;
    shape.push_back(has(wanted, name) ? extents_.at(name) : 1);
  }
  return shape;
}

ValueId Contraction::apply(GraphBuilder& b, ValueId x, ValueId kernel) const {
  Factors kept = x_;
  std::vector<std::int64_t> summed;
  for (std::size_t d = 0; d < x_.size(); ++d) {
    if (has(kernel_, x_[d]) || has(y_, x_[d])) continue;
    summed.push_back(static_cast<std::int64_t>(d));
    std::erase(kept, x_[d]);
  }
  if (!summed.empty()) x = ops::reduce_sum(b, x, summed, false);
  return ops::einsum(
      b, x, kernel,
      fmt::format("{}, {} -> {}", join(kept, " "), join(kernel_, " "), join(y_, " ")));
}

Shape Contraction::shape_of(const Factors& factors) const {
  Shape shape;
  for (const std::string& name : factors) shape.push_back(extents_.at(name));
  return shape;
}

/// "...d" of four dimensions: e1 e2 e3 d.
void Contraction::name_dimensions(const Equation& equation, const Shape& x_shape) {
  const EquationPart& x = equation.x;
  const bool has_dots = x.dots_first || x.dots_last;
  const std::size_t letters = x.letters.size();
  if (x_shape.size() < letters || (!has_dots && x_shape.size() > letters)) {
    refuse("its input is {}, which has {} dimensions with the batch, not {}{}",
           sample_shape(x_shape), x_shape.size(), letters, has_dots ? " or more" : "");
  }
  for (std::size_t i = letters; i < x_shape.size(); ++i) {
    dots_.push_back(fmt::format("e{}", i - letters + 1));
  }
  kernel_ = equation.kernel.letters;
  x_ = with_dots(x);
  y_ = with_dots(equation.y);
  for (std::size_t d = 0; d < x_.size(); ++d) extents_[x_[d]] = x_shape[d];
  if (y_[0] != x_[0] || has(kernel_, x_[0])) {
    refuse("the first dimension of input and output is the batch, and none of the kernel");
  }
}

Contraction::Factors Contraction::with_dots(const EquationPart& part) const {
  Factors factors = part.letters;
  factors.insert(part.dots_first ? factors.begin() : factors.end(), dots_.begin(), dots_.end());
  return factors;
}

/// `value`: the extents of the letters of the output but the batch; null: as in the input.
void Contraction::read_output(const config::Value& value, const EquationPart& y) {
  Factors letters = y.letters;
  std::erase(letters, y_[0]);
  const std::vector<config::Value> given =
      value.is_list() ? value.list : std::vector<config::Value>{value};
  if (given.size() != letters.size()) {
    fail_at(
        value.at, "output_shape is of rank {}, but a sample of the output of '{}' is of rank {}{}",
        given.size(), text_, letters.size(), dots_.empty() ? "" : " without what ... stands for");
  }
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto known = extents_.find(letters[i]);
    if (given[i].is_null() && known != extents_.end()) continue;
    const std::int64_t extent = given[i].as_integer("output_shape");
    if (extent < 1 || (known != extents_.end() && known->second != extent)) {
      fail_at(given[i].at, "output_shape: '{}' of '{}' is {}; give {}", letters[i], text_, extent,
              known == extents_.end() ? "1 or more"
                                      : fmt::format("{}, as the input has", known->second));
    }
    extents_[letters[i]] = extent;
  }
}

void Contraction::check_kernel() const {
  for (const std::string& name : kernel_) {
    if (!extents_.contains(name)) refuse("'{}' stands in the kernel alone", name);
  }
  for (const std::string& name : y_) {
    if (!has(x_, name) && !has(kernel_, name)) refuse("'{}' stands in the output alone", name);
  }
}

}  // namespace meshwork::layers
