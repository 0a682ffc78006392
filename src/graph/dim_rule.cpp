#include "graph/dim_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace meshwork {
namespace {

using Marks = DimRule::Marks;

/// Reads one rule text; the sizes of factors are filled in as shapes reveal them.
class Parser {
 public:
  Parser(std::string_view text, DimRule& rule) : text_(text), rule_(rule) {}

  std::vector<DimRule::Operand> operands() {
    std::vector<DimRule::Operand> result(1);
    reaches_.assign(1, {});
    bool any = false;
    for (skip(); !at_end() && !at_arrow(); skip()) {
      any = true;
      if (take(',')) {
        result.emplace_back();
        reaches_.emplace_back();
      } else {
        result.back().push_back(dim());
        reaches_.back().push_back(take('~') ? std::optional<Reach>(Reach{}) : std::nullopt);
      }
    }
    if (!any) result.clear();
    return result;
  }

  /// The marks of the operands that were read last.
  const std::vector<Marks>& reaches() const { return reaches_; }

  bool arrow() {
    skip();
    if (!at_arrow()) return false;
    position_ += 2;
    return true;
  }

  bool at_end() const { return position_ == text_.size(); }

 private:
  DimRule::Dim dim() {
    if (take('1')) return {};
    if (take('(')) {
      DimRule::Dim factors;
      for (skip(); !take(')'); skip()) factors.push_back(factor(false));
      return factors;
    }
    if (take('[')) {
      const int id = factor(true);
      MW_CHECK(take(']'), "']' expected in rule '{}'", text_);
      return {id};
    }
    return {factor(false)};
  }

  int factor(bool whole) {
    const std::size_t begin = position_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0)) {
      ++position_;
    }
    const std::string name(text_.substr(begin, position_ - begin));
    MW_CHECK(!name.empty(), "a factor expected at {} in rule '{}'", begin, text_);
    auto known = std::find_if(rule_.factors.begin(), rule_.factors.end(),
                              [&](const auto& f) { return f.name == name; });
    if (known == rule_.factors.end()) {
      rule_.factors.push_back({.name = name, .size = 0, .whole = false});
      known = rule_.factors.end() - 1;
    }
    known->whole |= whole;
    return static_cast<int>(known - rule_.factors.begin());
  }

  void skip() {
    while (!at_end() && text_[position_] == ' ') ++position_;
  }
  bool at_arrow() const { return text_.substr(position_, 2) == "->"; }
  bool take(char c) {
    if (at_end() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  std::string_view text_;
  DimRule& rule_;
  std::vector<Marks> reaches_;
  std::size_t position_ = 0;
};

/// Solves for sizes: a dimension with one unknown factor gives it. False if nothing was learnt.
bool learn_sizes(DimRule& rule, const DimRule::Operand& operand, const Marks& marks,
                 const Shape& shape, std::vector<bool>& known) {
  bool learnt = false;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (marks[d]) continue;
    std::int64_t product = 1;
    std::optional<int> unknown;
    int unknowns = 0;
    for (const int f : operand[d]) {
      if (known[static_cast<std::size_t>(f)]) {
        product *= rule.factors[static_cast<std::size_t>(f)].size;
      } else {
        unknown = f;
        ++unknowns;
      }
    }
    if (unknowns != 1) continue;
    const auto f = static_cast<std::size_t>(*unknown);
    rule.factors[f].size = product == 0 ? 0 : shape[d] / product;
    known[f] = true;
    learnt = true;
  }
  return learnt;
}

void check_operand(std::string_view text, const DimRule& rule, const DimRule::Operand& operand,
                   const Marks& marks, const Shape& shape) {
  MW_CHECK(operand.size() == shape.size(), "rule '{}' does not fit {}", text, to_string(shape));
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (marks[d]) continue;
    std::int64_t product = 1;
    for (const int f : operand[d]) product *= rule.factors[static_cast<std::size_t>(f)].size;
    MW_CHECK(product == shape[d], "rule '{}' does not fit {} at dimension {}", text,
             to_string(shape), d);
  }
}

}  // namespace

int DimRule::major_factor(const Operand& operand, std::size_t dim) {
  return operand[dim].empty() ? -1 : operand[dim].front();
}

int DimRule::dim_of(const Operand& operand, int factor) {
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (major_factor(operand, d) == factor) return static_cast<int>(d);
  }
  return -1;
}

bool DimRule::contains(const Operand& operand, int factor) {
  return std::any_of(operand.begin(), operand.end(), [&](const Dim& dim) {
    return std::find(dim.begin(), dim.end(), factor) != dim.end();
  });
}

DimRule parse_rule(std::string_view text, std::span<const TensorType> inputs,
                   const TensorType& output) {
  DimRule rule;
  Parser parser(text, rule);
  rule.inputs = parser.operands();
  // "-> m" is a rule without operands, unless the only operand is a scalar.
  if (rule.inputs.empty() && !inputs.empty()) rule.inputs.emplace_back();
  rule.reaches = parser.reaches();
  MW_CHECK(parser.arrow(), "'->' expected in rule '{}'", text);
  const auto outputs = parser.operands();
  MW_CHECK(parser.at_end() && outputs.size() <= 1, "rule '{}' has more than one result", text);
  if (!outputs.empty()) rule.output = outputs.front();
  MW_CHECK(rule.inputs.size() == inputs.size(), "rule '{}' is not for {} operands", text,
           inputs.size());

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    MW_CHECK(rule.inputs[i].size() == inputs[i].shape.size(),
             "rule '{}' does not fit operand {} {}", text, i, to_string(inputs[i].shape));
  }
  MW_CHECK(rule.output.size() == output.shape.size(), "rule '{}' does not fit the result {}", text,
           to_string(output.shape));
  const Marks unmarked(rule.output.size());
  std::vector<bool> known(rule.factors.size(), false);
  for (bool learnt = true; learnt;) {
    learnt = learn_sizes(rule, rule.output, unmarked, output.shape, known);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      learnt |= learn_sizes(rule, rule.inputs[i], rule.reaches[i], inputs[i].shape, known);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_operand(text, rule, rule.inputs[i], rule.reaches[i], inputs[i].shape);
  }
  check_operand(text, rule, rule.output, unmarked, output.shape);
  return rule;
}

DimRule rule_of(const Graph& graph, const Node& node) {
  const auto types = input_types(graph, node);
  const OpArgs args{.inputs = types, .attrs = node.attrs, .output = node.type};
  DimRule rule = parse_rule(node.op->rule(args), types, node.type);
  for (std::size_t i = 0; i < rule.reaches.size(); ++i) {
    for (std::size_t d = 0; d < rule.reaches[i].size(); ++d) {
      if (rule.reaches[i][d]) rule.reaches[i][d] = node.op->reach(args, i, d);
    }
  }
  return rule;
}

std::string factor_names(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d > 0) text += ' ';
    text +=
        fmt::format("{}{}", static_cast<char>('a' + d % 26), d < 26 ? "" : fmt::format("{}", d));
  }
  return text;
}

std::string elementwise_rule(const OpArgs& args) {
  const Shape& result = args.output.shape;
  const auto name = [](std::size_t d) {
    return factor_names(d + 1).substr(factor_names(d).size());
  };
  std::string text;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (i > 0) text += ',';
    const Shape& shape = args.inputs[i].shape;
    const std::size_t missing = result.size() - shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      text += shape[d] == result[missing + d] ? " " + name(missing + d) : " 1";
    }
  }
  text += " -> ";
  for (std::size_t d = 0; d < result.size(); ++d) text += name(d) + " ";
  return text;
}

}  // namespace meshwork
