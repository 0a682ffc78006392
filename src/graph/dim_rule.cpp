#include "graph/dim_rule.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace meshwork {
namespace {

using Marks = DimRule::Marks;

// For which room is made at once.
constexpr std::size_t kUsualFactors = 8, kUsualRank = 4, kUsualText = 64;

/// Reads one rule text; the sizes of factors are filled in as shapes reveal them.
class Parser {
 public:
  Parser(std::string_view text, DimRule& rule) : text_(text), rule_(rule) {}

  /// Reads operands up to the arrow or the end, and the marks of each: none for "".
  void operands(std::vector<DimRule::Operand>& read, std::vector<Marks>& marks) {
    skip();
    if (at_end() || at_arrow()) return;
    do {
      read.push_back(operand());
      marks.push_back(std::move(marks_));
    } while (take(','));
  }

  bool arrow() {
    skip();
    if (!at_arrow()) return false;
    position_ += 2;
    return true;
  }

  bool at_end() const { return position_ == text_.size(); }

 private:
  DimRule::Operand operand() {
    DimRule::Operand dims;
    dims.reserve(kUsualRank);
    marks_ = {};
    marks_.reserve(kUsualRank);
    for (skip(); !at_end() && !at_arrow() && text_[position_] != ','; skip()) {
      dims.push_back(dim());
      marks_.push_back(take('~') ? std::optional<Reach>(Reach{}) : std::nullopt);
    }
    return dims;
  }

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
    const std::string_view name = text_.substr(begin, position_ - begin);
    MW_CHECK(!name.empty(), "a factor expected at {} in rule '{}'", begin, text_);
    auto known = std::find_if(rule_.factors.begin(), rule_.factors.end(),
                              [&](const auto& f) { return f.name == name; });
    if (known == rule_.factors.end()) {
      rule_.factors.push_back({.name = std::string(name), .size = 0, .whole = false});
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
  Marks marks_;  ///< of the operand that was read last
  std::size_t position_ = 0;
};

/// The rule of an op of so many operands, before it meets shapes.
DimRule read_rule(std::string_view text, std::size_t inputs) {
  DimRule rule;
  rule.factors.reserve(kUsualFactors);
  rule.inputs.reserve(inputs);
  rule.reaches.reserve(inputs);
  Parser parser(text, rule);
  parser.operands(rule.inputs, rule.reaches);
  // "-> m" is a rule without operands, unless the only operand is a scalar.
  if (rule.inputs.empty() && inputs > 0) {
    rule.inputs.emplace_back();
    rule.reaches.emplace_back();
  }
  MW_CHECK(parser.arrow(), "'->' expected in rule '{}'", text);
  std::vector<DimRule::Operand> outputs;
  std::vector<Marks> of_outputs;
  parser.operands(outputs, of_outputs);
  MW_CHECK(parser.at_end() && outputs.size() <= 1, "rule '{}' has more than one result", text);
  if (!outputs.empty()) rule.output = std::move(outputs.front());
  return rule;
}

/// Solves for sizes: a dimension with one unknown factor gives it. False if nothing was learnt.
/// Where there are no marks (nullptr), no dimension is marked.
bool learn_sizes(DimRule& rule, const DimRule::Operand& operand, const Marks* marks,
                 const Shape& shape, std::vector<bool>& known) {
  bool learnt = false;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (marks != nullptr && (*marks)[d]) continue;
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
                   const Marks* marks, const Shape& shape) {
  MW_CHECK(operand.size() == shape.size(), "rule '{}' does not fit {}", text, to_string(shape));
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (marks != nullptr && (*marks)[d]) continue;
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
  DimRule rule = read_rule(text, inputs.size());
  MW_CHECK(rule.inputs.size() == inputs.size(), "rule '{}' is not for {} operands", text,
           inputs.size());

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    MW_CHECK(rule.inputs[i].size() == inputs[i].shape.size(),
             "rule '{}' does not fit operand {} {}", text, i, to_string(inputs[i].shape));
  }
  MW_CHECK(rule.output.size() == output.shape.size(), "rule '{}' does not fit the result {}", text,
           to_string(output.shape));
  std::vector<bool> known(rule.factors.size(), false);
  for (bool learnt = true; learnt;) {
    learnt = learn_sizes(rule, rule.output, nullptr, output.shape, known);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      learnt |= learn_sizes(rule, rule.inputs[i], &rule.reaches[i], inputs[i].shape, known);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_operand(text, rule, rule.inputs[i], &rule.reaches[i], inputs[i].shape);
  }
  check_operand(text, rule, rule.output, nullptr, output.shape);
  return rule;
}

DimRule rule_of(const OpDef& op, const OpArgs& args) {
  DimRule rule = parse_rule(op.rule(args), args.inputs, args.output);
  for (std::size_t i = 0; i < rule.reaches.size(); ++i) {
    for (std::size_t d = 0; d < rule.reaches[i].size(); ++d) {
      if (rule.reaches[i][d]) rule.reaches[i][d] = op.reach(args, i, d);
    }
  }
  return rule;
}

DimRule rule_of(const Graph& graph, const Node& node) {
  const auto types = input_types(graph, node);
  return rule_of(*node.op, {.inputs = types, .attrs = node.attrs, .output = node.type});
}

std::string factor_name(std::size_t index) {
  std::string name(1, static_cast<char>('a' + index % 26));
  if (index >= 26) name += std::to_string(index);
  return name;
}

std::string factor_names(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d > 0) text += ' ';
    text += factor_name(d);
  }
  return text;
}

std::string elementwise_rule(const OpArgs& args) {
  const Shape& result = args.output.shape;
  std::string text;
  text.reserve(kUsualText);
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (i > 0) text += ',';
    const Shape& shape = args.inputs[i].shape;
    const std::size_t missing = result.size() - shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      text += ' ';
      text += shape[d] == result[missing + d] ? factor_name(missing + d) : "1";
    }
  }
  text += " -> ";
  for (std::size_t d = 0; d < result.size(); ++d) {
    text += factor_name(d);
    text += ' ';
  }
  return text;
}

}  // namespace meshwork
