#include "backend/cuda/products/stack.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/cuda/kernels.h"
#include "backend/cuda/products/kernels.h"

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

std::optional<Product> stack_of_nodes(std::span<const KernelArgs> nodes) {
  std::vector<Product> products;
  for (const KernelArgs& args : nodes) {
    const auto product = sole_product(args);
    if (!product) return std::nullopt;
    products.push_back(*product);
  }
  const std::optional<Product> stack = stack_of(std::move(products));
  const bool is_taken =
      stack && (stack->epilogue.bias == nullptr || has_epilogue(stream_of(nodes.front()), *stack));
  return is_taken ? stack : std::nullopt;
}

}  // namespace

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

std::vector<Product> products_of_stack(std::span<const KernelArgs> nodes) {
  if (const auto stack = stack_of_nodes(nodes)) return {*stack};
  std::vector<Product> all;
  for (const KernelArgs& args : nodes) {
    const std::vector<Product> mine = einsum_products(args);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return all;
}

Launch einsum_stack(std::span<const KernelArgs> nodes) {
  const KernelArgs& first = nodes.front();
  if (const auto stack = stack_of_nodes(nodes)) {
    return product_launch(stream_of(first), *stack, first.workspace);
  }
  std::vector<Launch> launches;
  for (KernelArgs args : nodes) {
    args.workspace = first.workspace;
    launches.push_back(einsum(args));
  }
  return [launches = std::move(launches)] {
    for (const Launch& launch : launches) launch();
  };
}

}  // namespace meshwork::cuda::products
