// x w -> x[:, :k/2] w[:k/2] + x[:, k/2:] w[k/2:], the two products as one of a stack, where w is
// large beside the result. Each half is for half of the threads of a device, with which the rows of
// w stay that they update; were all of w read by all of them, each row would go from core to core
// and back in every step. What is computed of the result next adds the halves on its way.
#include <utility>
#include <vector>

#include "graph/dim_rule.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

constexpr std::int64_t kHalves = 2;

/// How many times as large as the result its second factor is.
constexpr std::int64_t kRatio = 4;

/// w, two moments and the gradient.
constexpr std::int64_t kKept = 4;

class Splitter {
 public:
  Splitter(Graph& program, const Target& target)
      : program_(program), target_(target), insertions_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (is_product(id) && pays(id)) split(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  const Shape& shape(ValueId id) const { return program_.type(id).shape; }
  const Region& region(ValueId id) const { return program_.regions[id]; }

  /// y [m, n] = x [m, k] w [k, n] of float32, all of k on every device.
  bool is_product(ValueId id) const {
    const Node& product = node(id);
    if (product.op != &ops::kEinsum) return false;
    const ValueId x = product.inputs[0], w = product.inputs[1];
    for (const ValueId value : {id, x, w}) {
      const TensorType& type = program_.type(value);
      if (type.dtype != DType::kFloat32 || type.shape.size() != 2) return false;
    }
    const DimRule rule = rule_of(program_, product);
    const DimRule::Operand &of_x = rule.inputs[0], &of_w = rule.inputs[1];
    return of_x[0] == rule.output[0] && of_x[1] == of_w[0] && of_w[1] == rule.output[1] &&
           shape(x)[1] == region(x).global[1];
  }

  /// The caches of two units hold w and what is kept beside it.
  bool pays(ValueId id) const {
    const std::int64_t m = region(id).global[0], n = region(id).global[1];
    const std::int64_t k = shape(node(id).inputs[0])[1];
    const std::int64_t bytes = kKept * num_bytes({DType::kFloat32, {k, n}});
    return k % kHalves == 0 && k >= kRatio * m && bytes <= kHalves * target_.cache &&
           m * n * k >= target_.split_work;
  }

  void split(ValueId id) {
    const Node product = node(id);
    const ValueId x = product.inputs[0], w = product.inputs[1];
    const Region of_x = region(x), of_w = region(w), of_y = region(id);
    const std::int64_t m = shape(id)[0], n = shape(id)[1], k = shape(x)[1] / kHalves;
    const std::vector<ValueId> both{
        reshape(id, x, {m, kHalves, k}, {{of_x.global[0], kHalves, k}, {of_x.offset[0], 0, 0}}),
        reshape(id, w, {kHalves, k, n}, {{kHalves, k, of_w.global[1]}, {0, 0, of_w.offset[1]}})};
    Attrs attrs = product.attrs;
    attrs.set("equation", "rows half sum, half sum columns -> half rows columns");
    const ValueId halves = insertions_.add(
        id, ops::kEinsum, both, attrs, {kHalves, m, n},
        {{kHalves, of_y.global[0], of_y.global[1]}, {0, of_y.offset[0], of_y.offset[1]}});
    const std::vector<ValueId> sum{take(id, halves, 0), take(id, halves, 1)};
    Node& total = program_.node(id);
    total.op = &ops::kAdd;
    total.attrs = {};
    total.inputs = sum;
  }

  ValueId reshape(ValueId id, ValueId operand, const Shape& shape, const Region& region) {
    return insertions_.add(id, ops::kReshape, {operand}, {{"shape", shape}}, shape, region);
  }

  ValueId take(ValueId id, ValueId halves, std::int64_t half) {
    const Shape y = shape(id);
    Region place = region(halves);
    place.offset[0] = half;
    const Attrs part{{"axis", std::int64_t{0}},
                     {"start", half},
                     {"size", std::int64_t{1}},
                     {"read_at_once", true}};
    const ValueId slice = insertions_.add(id, ops::kSlice, {halves}, part, {1, y[0], y[1]}, place);
    return reshape(id, slice, y, region(id));
  }

  Graph& program_;
  const Target& target_;
  Insertions insertions_;
};

void run(Graph& program, const Target& target) { Splitter(program, target).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kSplitK{.name = "split_k",
                         .run = run,
                         .makes = {&ops::kAdd, &ops::kEinsum, &ops::kReshape, &ops::kSlice}};
}  // namespace rewriting

}  // namespace meshwork
