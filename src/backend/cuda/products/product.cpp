#include "backend/cuda/products/product.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "backend/cuda/products/algorithm.h"
#include "base/check.h"
#include "base/error.h"

namespace meshwork::cuda::products {
namespace {

/// Grids have no more layers, over which a stack is laid.
constexpr std::int64_t kHighestStack = 65535;

/// "12 products of bfloat16 [3, 4] and [4, 5] to float32".
std::string text_of(const Product& p) {
  return fmt::format("{} of {} [{}, {}] and [{}, {}] to {}",
                     p.stack == 1 ? "a product" : fmt::format("{} products", p.stack),
                     to_string(p.operands), p.m, p.k, p.k, p.n, to_string(p.result));
}

/// A product that is ready to be enqueued.
struct Call {
  CudaStream& stream;
  std::string text;
  Product product;
  Problem problem;
  Description description;
  std::byte* workspace;
  cublasLtHandle_t handle;
  std::optional<cublasLtMatmulAlgo_t> algorithm;

  Call(CudaStream& the_stream, const Product& the_product, std::byte* the_workspace)
      : stream(the_stream),
        text(text_of(the_product)),
        product(by_columns(the_product)),
        problem(problem_of(product)),
        description(problem, product.epilogue.bias),
        workspace(the_workspace),
        handle(cublaslt_handle(stream.gpu())),
        algorithm(algorithm_of(stream.gpu(), problem, description, text)) {}

  void operator()() const {
    stream.gpu().make_current();
    constexpr float kOne = 1, kZero = 0;
    const cublasStatus_t status = cublaslt().cublasLtMatmul(
        handle, description.operation.get(), &kOne, product.x.data, description.a.get(),
        product.w.data, description.b.get(), &kZero, product.y.data, description.y.get(),
        product.y.data, description.y.get(), &algorithm.value(), workspace,
        static_cast<std::size_t>(problem.workspace), stream.handle());
    check(status, text);
  }
};

/// A stack as high as one launch takes.
Product lowest_of(Product product) {
  product.stack = std::min(product.stack, kHighestStack);
  return product;
}

void skip(MatrixStack& matrices, DType dtype, std::int64_t count) {
  matrices.data += count * matrices.stack * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

Launch product_launch(CudaStream& stream, const Product& product, std::byte* workspace) {
  if (product.stack <= kHighestStack) {
    return [call = std::make_shared<const Call>(stream, product, workspace)] { (*call)(); };
  }
  Product rest = product;
  rest.stack -= kHighestStack;
  skip(rest.x, rest.operands, kHighestStack);
  skip(rest.w, rest.operands, kHighestStack);
  skip(rest.y, rest.result, kHighestStack);
  return [first = product_launch(stream, lowest_of(product), workspace),
          others = product_launch(stream, rest, workspace)] {
    first();
    others();
  };
}

bool has_epilogue(CudaStream& stream, const Product& product) {
  return Call(stream, lowest_of(product), nullptr).algorithm.has_value();
}

}  // namespace meshwork::cuda::products
