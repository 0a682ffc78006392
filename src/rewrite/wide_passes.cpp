// elementwise nodes of floats of 16 bits -> the same of float32 between casts, to be computed in
// one pass: where one is made of another of its layer nothing is rounded in between. What a layer
// gives, and what is kept for the backward pass, stays rounded.
#include <algorithm>
#include <map>
#include <utility>

#include "base/conversion.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

class Widening {
 public:
  explicit Widening(Graph& program)
      : program_(program), wide_(program.nodes.size(), kNoValue), insertions_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (can_widen(id)) widen(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  bool is_narrow(ValueId id) const { return is_narrow_float(program_.type(id).dtype); }

  bool can_widen(ValueId id) const {
    const std::vector<ValueId>& inputs = node(id).inputs;
    return node(id).op->elementwise && is_narrow(id) &&
           std::ranges::all_of(inputs, [&](ValueId input) { return is_narrow(input); });
  }

  /// `id` becomes the cast of the node in float32.
  void widen(ValueId id) {
    Node wide = node(id);
    wide.type.dtype = DType::kFloat32;
    for (ValueId& input : wide.inputs) input = wide_operand(id, input);
    wide_[id] = insertions_.add(id, std::move(wide), Region(program_.regions[id]));
    Node& rounded = program_.node(id);
    rounded.op = &ops::kCast;
    rounded.inputs = {wide_[id]};
    rounded.attrs = {{"dtype", std::string(to_string(rounded.type.dtype))}};
  }

  bool in_one_pass(ValueId reader, ValueId input) const {
    const Node& one = node(reader);
    const Node& other = node(input);
    return one.phase == other.phase && one.path == other.path &&
           program_.global_shape(reader) == program_.global_shape(input);
  }

  ValueId wide_operand(ValueId reader, ValueId input) {
    if (wide_[input] != kNoValue && in_one_pass(reader, input)) return wide_[input];
    const auto [known, is_new] = casts_.try_emplace({input, node(reader).path, node(reader).phase});
    if (!is_new) return known->second;
    const std::string dtype(to_string(DType::kFloat32));
    Node cast = node(reader);
    cast.type = {DType::kFloat32, program_.type(input).shape};
    if (node(input).op == &ops::kConstant) {
      const float value = rounded_to(program_.type(input).dtype,
                                     static_cast<float>(node(input).attrs.real("value")));
      cast.op = &ops::kConstant;
      cast.inputs = {};
      cast.attrs = node(input).attrs;
      cast.attrs.set("value", static_cast<double>(value));
      cast.attrs.set("dtype", dtype);
    } else {
      cast.op = &ops::kCast;
      cast.inputs = {input};
      cast.attrs = {{"dtype", dtype}};
    }
    known->second = insertions_.add(reader, std::move(cast), Region(program_.regions[input]));
    return known->second;
  }

  Graph& program_;
  ValueMap<ValueId> wide_;  ///< of nodes that have become casts
  std::map<std::tuple<ValueId, std::string, Phase>, ValueId> casts_;
  Insertions insertions_;
};

void run(Graph& program, const Target& /*target*/) { Widening(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kWidePasses{
    .name = "wide_passes", .run = run, .makes = {&ops::kCast, &ops::kConstant}};
}  // namespace rewriting

}  // namespace meshwork
