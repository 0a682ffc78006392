// What a state gives to the gates of a cell: h U
#include "model/layers/recurrent.h"
#include "ops/ops.h"

namespace meshwork::layers {

ValueId rows(GraphBuilder& b, ValueId x, std::int64_t first, std::int64_t count) {
  if (first == 0 && count == b.shape(x)[0]) return x;
  return b.add(
      ops::kSlice, {x},
      {{"axis", std::int64_t{0}}, {"start", first}, {"size", count}, {"read_at_once", true}});
}

ValueId Gates::operator[](std::int64_t gate) const {
  return b_.shape(all_).empty() ? all_ : rows(b_, all_, gate - first_, 1);
}

ValueId RecurrentKernel::columns(std::int64_t first, std::int64_t count) {
  if (count == b_.shape(kernel_)[1]) return kernel_;
  const auto [known, is_new] = columns_.try_emplace({first, count}, kNoValue);
  if (is_new) {
    known->second = b_.add(ops::kSlice, {kernel_},
                           {{"axis", std::int64_t{1}}, {"start", first}, {"size", count}});
  }
  return known->second;
}

Gates RecurrentKernel::product(ValueId state, std::int64_t first, std::int64_t count) {
  const Shape shape = b_.shape(state);
  if (shape.empty()) return {b_, state, first};
  const std::int64_t gates = b_.shape(kernel_)[1];
  const bool is_by_gate = factors_ != kNoValue && gates > 1 && b_.shape(factors_)[0] == gates;
  if (factors_ != kNoValue) {
    state = ops::multiply(b_, state, is_by_gate ? rows(b_, factors_, first, count) : factors_);
  }
  if (!is_by_gate) state = ops::reshape(b_, state, {shape[1], shape[2]});
  const char* const equation = is_by_gate ? "g b u, u g v -> g b v" : "b u, u g v -> g b v";
  return {b_, ops::einsum(b_, state, columns(first, count), equation), first};
}

}  // namespace meshwork::layers
