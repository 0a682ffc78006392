#include "graph/known_nodes.h"

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "base/error.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

class Hash {
 public:
  template <class T>
  void add(const T& value) {
    state_ = (state_ ^ std::hash<T>()(value)) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 32U;
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(value);
  }
  void add(TypeView type) {
    add(type.dtype);
    add(*type.shape);
  }
  std::uint64_t get() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

std::uint64_t hash(const Node& node, std::span<const TypeView> inputs, TypeView output) {
  Hash hash;
  hash.add(node.op);
  for (const auto& [name, attr] : node.attrs.entries()) {
    std::visit([&](const auto& value) { hash.add(value); }, attr);
  }
  for (const TypeView& input : inputs) hash.add(input);
  hash.add(output);
  return hash.get();
}

bool is(const TensorType& type, TypeView other) {
  return type.dtype == other.dtype && type.shape == *other.shape;
}

bool is_like(const KnownNodes::Known& known, const Node& node, std::span<const TypeView> inputs,
             TypeView output) {
  return known.op == node.op && std::ranges::equal(known.inputs, inputs, is) &&
         is(known.output, output) && known.attrs == node.attrs &&
         known.collective == node.collective;
}

std::optional<TensorType> infer(const KnownNodes::Known& known) {
  try {
    return known.op->infer({.inputs = known.inputs,
                            .attrs = known.attrs,
                            .output = {},
                            .collective = known.collective ? &*known.collective : nullptr});
  } catch (const Error&) {
  } catch (const CheckFailure&) {
  }
  return std::nullopt;
}

const DimRule& parsed_rule(KnownNodes::Known& known) {
  if (!known.rule) {
    known.rule =
        rule_of(*known.op, {.inputs = known.inputs, .attrs = known.attrs, .output = known.output});
  }
  return *known.rule;
}

}  // namespace

KnownNodes::Known& KnownNodes::find(const Node& node, std::span<const TypeView> inputs,
                                    TypeView output) {
  auto& alike = known_[hash(node, inputs, output)];
  for (const auto& known : alike) {
    if (is_like(*known, node, inputs, output)) return *known;
  }
  alike.push_back(std::make_unique<Known>());
  Known& known = *alike.back();
  for (const TypeView& input : inputs) known.inputs.push_back({input.dtype, *input.shape});
  known.output = {output.dtype, *output.shape};
  known.op = node.op;
  known.attrs = node.attrs;
  known.collective = node.collective;
  known.inferred = infer(known);
  return known;
}

KnownNodes::Known& KnownNodes::find(const Graph& graph, const Node& node) {
  inputs_.clear();
  for (const ValueId input : node.inputs) {
    inputs_.push_back({graph.type(input).dtype, &graph.type(input).shape});
  }
  return find(node, inputs_, {node.type.dtype, &node.type.shape});
}

const DimRule* KnownNodes::rule(Known& known) {
  if (known.op->rule == nullptr || known.inferred != known.output) return nullptr;
  return &parsed_rule(known);
}

const DimRule& KnownNodes::rule(const Graph& graph, const Node& node) {
  return parsed_rule(find(graph, node));
}

}  // namespace meshwork
