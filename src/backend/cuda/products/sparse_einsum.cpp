// y = sum over the factors of x and w that are not in y of x * w * chosen: products of all experts
// with all rows, where the rows that did not choose an expert are 0
#include <algorithm>

#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/products/kernels.h"
#include "backend/cuda/tables/kernels.h"
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

/// What is done: the product of the blocks of all experts, with those that are not chosen left out
/// before it or behind it.
class Sparse {
 public:
  explicit Sparse(const KernelArgs& args)
      : args_(args),
        spread_(sparse_roles(args.attrs).spread),
        is_packed_(args.attrs.find("packed") != nullptr),
        all_(blocks()) {
    all_.type.shape.end()[-2] = chosen().type.shape.back();
    if (is_scratch()) all_.data = args.workspace;
  }

  /// Of blocks that do not stand where operand or result do; of a product, and of moves.
  std::int64_t workspace() const {
    std::int64_t bytes = all_bytes() + einsum_workspace(product());
    if (is_packed_)
      bytes = std::max(bytes, all_bytes() + chosen_bytes(is_result() ? pack() : unpack()));
    return bytes;
  }

  KernelArgs product() const {
    KernelArgs product = args_;
    product.inputs.pop_back();
    (is_result() ? product.output : product.inputs[static_cast<std::size_t>(spread_)]) = all_;
    product.workspace = rest();
    return product;
  }

  Launch launch() const {
    const Launch choose =
        choose_rows(args_, is_packed_ || is_result() ? all_ : blocks(), all_.data);
    if (is_result() && is_packed_) return in_turn({einsum(product()), choose, pack_chosen(pack())});
    if (is_result()) return in_turn({einsum(product()), choose});
    if (is_packed_) return in_turn({unpack_chosen(unpack()), choose, einsum(product())});
    return in_turn({choose, einsum(product())});
  }

 private:
  bool is_result() const { return spread_ == 2; }
  bool is_scratch() const { return is_packed_ || !is_result(); }
  const TensorView& chosen() const { return args_.inputs[2]; }
  const TensorView& blocks() const {
    return is_result() ? args_.output : args_.inputs[static_cast<std::size_t>(spread_)];
  }
  std::int64_t all_bytes() const {
    return is_scratch() ? rounded_up(num_bytes(all_.type), kAlignment) : 0;
  }
  std::byte* rest() const { return args_.workspace + all_bytes(); }

  KernelArgs pack() const { return move(all_, blocks()); }
  KernelArgs unpack() const { return move(blocks(), all_); }
  KernelArgs move(const TensorView& from, const TensorView& to) const {
    return {.inputs = {from, chosen()},
            .output = to,
            .attrs = {},
            .workspace = rest(),
            .stream = args_.stream,
            .target = args_.target};
  }

  KernelArgs args_;
  int spread_;
  bool is_packed_;
  TensorView all_;  ///< the blocks of all experts
};

}  // namespace

std::int64_t sparse_einsum_workspace(const KernelArgs& args) { return Sparse(args).workspace(); }

std::vector<Product> sparse_einsum_products(const KernelArgs& args) {
  return einsum_products(Sparse(args).product());
}

Launch sparse_einsum(const KernelArgs& args) { return Sparse(args).launch(); }

}  // namespace meshwork::cuda::products
