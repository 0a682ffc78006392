// products of one form as one: a stack of matrices
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "backend/cuda/kernels.h"
#include "backend/cuda/products/kernels.h"
#include "backend/cuda/products/problem.h"
#include "backend/cuda/products/table.h"
#include "backend/in_turn.h"

namespace meshwork::cuda::products {
namespace {

/// Elements from one matrix, or bias, to the next: nothing where these are not the same throughout,
/// or lead backwards.
template <class PlaceOf>
std::optional<std::int64_t> distance(const std::vector<Product>& products, DType dtype,
                                     const PlaceOf& place_of) {
  const auto bytes = [&](std::size_t i) { return place_of(products[i]) - place_of(products[0]); };
  const std::int64_t step = bytes(1), size = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t i = 1; i < products.size(); ++i) {
    if (bytes(i) != step * static_cast<std::int64_t>(i)) return std::nullopt;
  }
  if (step < 0 || step % size != 0) return std::nullopt;
  return step / size;
}

/// Products that differ in places alone; which comes first does not matter.
std::optional<Product> stack_of(std::vector<Product> products) {
  const auto places = [](const Product& p) { return std::array{p.x.data, p.w.data, p.y.data}; };
  std::ranges::sort(products, {}, places);
  Product stack = products.front();
  const auto x = distance(products, stack.operands, [](const Product& p) { return p.x.data; });
  const auto w = distance(products, stack.operands, [](const Product& p) { return p.w.data; });
  const auto y = distance(products, stack.result, [](const Product& p) { return p.y.data; });
  const auto bias =
      distance(products, stack.result, [](const Product& p) { return p.epilogue.bias; });
  if (!x || !w || !y || *y == 0 || !bias) return std::nullopt;
  stack.stack = std::ssize(products);
  stack.x.stack = *x;
  stack.w.stack = *w;
  stack.y.stack = *y;
  stack.epilogue.stack = *bias;
  return stack;
}

bool is_faster_in_turn(const Gpu& gpu, const Product& stack) {
  const TableInUse* const used = table_in_use(gpu);
  if (used == nullptr) return false;
  const auto tuned = used->table.products.find(problem_of(by_columns(stack)));
  return tuned != used->table.products.end() && tuned->second.in_turn;
}

}  // namespace

std::optional<Product> stack_product(std::span<const KernelArgs> nodes) {
  std::vector<Product> products;
  for (const KernelArgs& args : nodes) {
    const auto product = sole_product(args);
    if (!product) return std::nullopt;
    products.push_back(*product);
  }
  const std::optional<Product> stack = stack_of(std::move(products));
  return stack && has_algorithm(stream_of(nodes.front()), *stack) ? stack : std::nullopt;
}

Launch einsum_stack(std::span<const KernelArgs> nodes) {
  const KernelArgs& first = nodes.front();
  CudaStream& stream = stream_of(first);
  const auto stack = stack_product(nodes);
  if (stack && !is_faster_in_turn(stream.gpu(), *stack)) {
    return product_launch(stream, *stack, first.workspace);
  }
  std::vector<Launch> launches;
  for (KernelArgs args : nodes) {
    args.workspace = first.workspace;
    launches.push_back(einsum(args));
  }
  return in_turn(std::move(launches));
}

}  // namespace meshwork::cuda::products
