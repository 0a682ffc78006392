// y = sum over the factors of x and w that are not in y of x * w: "m k, k n -> m n"; and of x * w *
// chosen
#include <map>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/equation.h"
#include "backend/in_turn.h"
#include "base/check.h"
#include "elementwise/all.h"
#include "graph/equation_text.h"
#include "graph/sparse_roles.h"

namespace meshwork::reference {
namespace {

/// A third tensor that is multiplied: its strides in elements, in factors of the equation that it
/// has.
struct Third {
  const float* data;
  std::map<std::string, std::int64_t> strides;
};

/// Every factor is a dimension of one loop nest: those of the result first, the summed ones inside.
Launch sum_products(const KernelArgs& args, const Third& third) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const Equation equation = parse_equation(args.attrs.text("equation"), args.inputs[0].type.shape,
                                           args.inputs[1].type.shape);
  std::vector<Factor> kept, summed;
  for (const Factor& factor : equation.factors) {
    (factor.y_stride > 0 ? kept : summed).push_back(factor);
  }
  const auto column = [](const std::vector<Factor>& factors, std::int64_t Factor::*member) {
    Shape result;
    for (const Factor& factor : factors) result.push_back(factor.*member);
    return result;
  };
  const auto strides_of = [](const Third& tensor, const std::vector<Factor>& factors) {
    Shape result;
    for (const Factor& factor : factors) {
      const auto found = tensor.strides.find(factor.name);
      result.push_back(found == tensor.strides.end() ? 0 : found->second);
    }
    return result;
  };
  return [x = args.inputs[0], w = args.inputs[1], y = args.output, third, kept, summed, column,
          strides_of] {
    using F = Factor;
    const Shape inner = column(summed, &F::extent);
    const Shape x_inner = column(summed, &F::x_stride), w_inner = column(summed, &F::w_stride);
    const Shape x_outer = column(kept, &F::x_stride), w_outer = column(kept, &F::w_stride);
    const Shape y_outer = column(kept, &F::y_stride);
    const Shape third_inner = strides_of(third, summed), third_outer = strides_of(third, kept);
    for_each_index(column(kept, &F::extent), [&](const Shape& place) {
      const float* x_begin = x.as<float>() + offset_of(place, x_outer);
      const float* w_begin = w.as<float>() + offset_of(place, w_outer);
      const float* third_begin = third.data + offset_of(place, third_outer);
      double sum = 0;
      for_each_index(inner, [&](const Shape& index) {
        sum += static_cast<double>(x_begin[offset_of(index, x_inner)]) *
               w_begin[offset_of(index, w_inner)] * third_begin[offset_of(index, third_inner)];
      });
      y.as<float>()[offset_of(place, y_outer)] = static_cast<float>(sum);
    });
  };
}

/// The tensor of a sparse_einsum that has blocks of experts.
TensorView& blocks_of(KernelArgs& args) {
  const int spread = sparse_roles(args.attrs).spread;
  return spread == 2 ? args.output : args.inputs[static_cast<std::size_t>(spread)];
}

/// The same product with the blocks of all experts, which stand in the workspace.
KernelArgs unpacked(KernelArgs args) {
  TensorView& blocks = blocks_of(args);
  blocks.type.shape.end()[-2] = args.inputs[2].type.shape.back();
  blocks.data = args.workspace;
  return args;
}

Launch sum_chosen(const KernelArgs& args) {
  const TensorView& chosen = args.inputs[2];
  const std::vector<std::string> names = factor_names(args.attrs.text("chosen"));
  const Shape strides = row_major_strides(chosen.type.shape);
  Third third{.data = chosen.as<float>(), .strides = {}};
  for (std::size_t d = 0; d < names.size(); ++d) third.strides[names[d]] = strides[d];
  return sum_products(args, third);
}

}  // namespace

Launch einsum(const KernelArgs& args) {
  static constexpr float kOne = 1;
  return sum_products(args, {.data = &kOne, .strides = {}});
}

Launch sparse_einsum(const KernelArgs& args) {
  if (args.attrs.find("packed") == nullptr) return sum_chosen(args);
  KernelArgs packed = args, whole = unpacked(args);
  const TensorView few = blocks_of(packed), all = blocks_of(whole), chosen = args.inputs[2];
  const Launch sum = sum_chosen(whole);
  if (sparse_roles(args.attrs).spread == 2) {
    return in_turn({sum, pack_chosen({.inputs = {all, chosen}, .output = few, .attrs = {}})});
  }
  return in_turn({unpack_chosen({.inputs = {few, chosen}, .output = all, .attrs = {}}), sum});
}

std::int64_t sparse_einsum_workspace(const KernelArgs& args) {
  if (args.attrs.find("packed") == nullptr) return 0;
  KernelArgs whole = unpacked(args);
  return num_bytes(blocks_of(whole).type);
}

Launch einsum_bias(const KernelArgs& args) {
  KernelArgs product = args;
  product.inputs.pop_back();
  return [sums = einsum(product), bias = args.inputs[2], y = args.output,
          relu = args.attrs.flag("relu")] {
    sums();
    const std::int64_t count = num_elements(bias.type.shape);
    for (std::int64_t i = 0; i < num_elements(y.type.shape); ++i) {
      float& place = y.as<float>()[i];
      place += bias.as<float>()[i % count];
      if (relu) place = elementwise::Relu::apply(place);
    }
  };
}

}  // namespace meshwork::reference
