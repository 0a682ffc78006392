#include "plan/pass_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/fusible.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

bool contains(const Instruction& instruction, ValueId id) {
  return std::ranges::binary_search(instruction.nodes, id);  // they are in order
}

/// How an operand lies in the elements of a pass: "=" as they do, "1" one element, else for each of
/// its dimensions whether it moves along. [3, 1] in [3, 4]: "+1".
std::string spread(const Shape& operand, const Shape& elements) {
  if (operand == elements) return "=";
  if (num_elements(operand) == 1) return "1";
  std::string text;
  for (std::size_t d = operand.size(), e = elements.size(); d-- > 0;) {
    const bool moves = e > 0 && operand[d] == elements[--e];
    text += moves ? '+' : operand[d] == 1 ? '1' : '?';
  }
  std::ranges::reverse(text);
  return text;
}

}  // namespace

PassForms::PassForms(const Graph& program, const Target& target)
    : program_(program), target_(target), readers_(program) {}

bool PassForms::is_beside_others(const Instruction& instruction) const {
  return instruction.nodes.size() == 1 &&
         target_.several_at_once.contains(program_.node(instruction.nodes.front()).op->name);
}

bool PassForms::is_pass(const Instruction& instruction) const {
  if (instruction.kind != Instruction::Kind::kKernel) return false;
  if (is_beside_others(instruction)) return true;
  const auto in_pass = [&](ValueId id) {
    return is_fusible(program_, id) || (is_number(program_, id) && instruction.nodes.size() > 1);
  };
  return std::ranges::all_of(instruction.nodes, in_pass);
}

std::string PassForms::form_of(const Instruction& pass) const {
  if (is_beside_others(pass)) {
    const Node& node = program_.node(pass.nodes.front());
    const DType from = program_.type(node.inputs[0]).dtype;
    return fmt::format("{} {} {}", node.op->name, to_string(from), to_string(node.type.dtype));
  }
  const Shape& elements = program_.type(pass.nodes.back()).shape;
  std::map<ValueId, std::size_t> number;  // of operands and members, as they are met
  std::string text;
  for (const ValueId id : pass.nodes) {
    const Node& node = program_.node(id);
    for (const ValueId input : node.inputs) {
      const TensorType& type = program_.type(input);
      const auto [known, is_new] = number.try_emplace(input, number.size());
      text += fmt::format("{}{} ", known->second, spread(type.shape, elements));
      if (is_new) text += fmt::format("{} ", to_string(type.dtype));
    }
    text += fmt::format("{}={} {}", number.try_emplace(id, number.size()).first->second,
                        node.op->name, to_string(node.type.dtype));
    if (!is_number(program_, id)) text += to_string(node.attrs);
    text += is_read(pass, id) ? " read; " : "; ";
  }
  return text;
}

bool PassForms::is_read(const Instruction& instruction, ValueId id) const {
  return !readers_.are_nodes(id) || std::ranges::any_of(readers_.nodes(id), [&](ValueId reader) {
    return !contains(instruction, reader);
  });
}

}  // namespace meshwork
