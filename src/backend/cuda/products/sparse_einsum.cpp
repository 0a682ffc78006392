// y = sum over the factors of x and w that are not in y of x * w * chosen: products of all experts
// with all rows, where the rows that did not choose an expert are 0
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/products/kernels.h"
#include "backend/in_turn.h"
#include "base/rounded_up.h"
#include "graph/sparse_roles.h"

namespace meshwork::cuda::products {
namespace {

constexpr std::int64_t kAlignment = 256;

// y may be x.
constexpr char kText[] = R"cuda(
KERNEL(choose_rows, T* y, const T* x, const C* chosen, Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index row = (Index)i;
    take_last(row, width);
    y[i] = from_float<T>(to_float(x[i]) * to_float(chosen[row]));
  }
}
)cuda";

/// y = x * chosen, of [rows .., experts, units].
Launch choose_rows(const KernelArgs& args, const TensorView& x, std::byte* y) {
  const TensorView& chosen = args.inputs[2];
  const std::int64_t count = num_elements(x.type.shape);
  const Source source{
      "choose_rows", std::string(kIndexText) + kText,
      define_index(count) + define("T", x.type.dtype) + define("C", chosen.type.dtype)};
  return launch_over(args, source, count, y, x.data, chosen.data, divisor_of(x.type.shape.back()),
                     count);
}

/// Bytes of an operand that has the rows of experts, with those left out that are not chosen; 0
/// where the result has them.
std::int64_t chosen_bytes(const KernelArgs& args, const SparseRoles& roles) {
  if (roles.spread == 2) return 0;
  return rounded_up(num_bytes(args.inputs[static_cast<std::size_t>(roles.spread)].type),
                    kAlignment);
}

/// The product of all: it takes the rows that are chosen from the workspace.
KernelArgs product_of(const KernelArgs& args, const SparseRoles& roles) {
  KernelArgs product = args;
  product.inputs.pop_back();
  if (roles.spread == 2) return product;
  product.inputs[static_cast<std::size_t>(roles.spread)].data = args.workspace;
  product.workspace = args.workspace + chosen_bytes(args, roles);
  return product;
}

}  // namespace

std::int64_t sparse_einsum_workspace(const KernelArgs& args) {
  const SparseRoles roles = sparse_roles(args.attrs);
  return chosen_bytes(args, roles) + einsum_workspace(product_of(args, roles));
}

std::vector<Product> sparse_einsum_products(const KernelArgs& args) {
  return einsum_products(product_of(args, sparse_roles(args.attrs)));
}

Launch sparse_einsum(const KernelArgs& args) {
  const SparseRoles roles = sparse_roles(args.attrs);
  const Launch product = einsum(product_of(args, roles));
  if (roles.spread == 2) {
    return in_turn({product, choose_rows(args, args.output, args.output.data)});
  }
  const TensorView& spread = args.inputs[static_cast<std::size_t>(roles.spread)];
  return in_turn({choose_rows(args, spread, args.workspace), product});
}

}  // namespace meshwork::cuda::products
