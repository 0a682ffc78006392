#include "backend/cuda/products/product.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/cuda/products/algorithm.h"
#include "backend/cuda/products/trial.h"
#include "base/check.h"
#include "base/error.h"

namespace meshwork::cuda::products {
namespace {

/// Grids have no more layers, over which a stack is laid.
constexpr std::int64_t kHighestStack = 65535;

/// A product that is ready to be enqueued.
struct Call {
  CudaStream& stream;
  Product product;
  Problem problem;
  std::string text;
  Description description;
  std::byte* workspace;
  cublasLtHandle_t handle;
  std::optional<cublasLtMatmulAlgo_t> algorithm;

  /// By an algorithm that is `given`, else by the one that is chosen for the problem.
  Call(CudaStream& the_stream, const Product& the_product, std::byte* the_workspace,
       const std::optional<cublasLtMatmulAlgo_t>& given = std::nullopt)
      : stream(the_stream),
        product(by_columns(the_product)),
        problem(problem_of(product)),
        text(text_of(problem)),
        description(problem, product.epilogue.bias),
        workspace(the_workspace),
        handle(cublaslt_handle(stream.gpu())),
        algorithm(given ? *given : algorithm_of(stream.gpu(), problem, description, text)) {}

  cublasStatus_t enqueue() const {
    stream.gpu().make_current();
    constexpr float kOne = 1, kZero = 0;
    return cublaslt().cublasLtMatmul(handle, description.operation.get(), &kOne, product.x.data,
                                     description.a.get(), product.w.data, description.b.get(),
                                     &kZero, product.y.data, description.y.get(), product.y.data,
                                     description.y.get(), &algorithm.value(), workspace,
                                     static_cast<std::size_t>(problem.workspace), stream.handle());
  }
  void operator()() const { check(enqueue(), text); }
};

void skip(MatrixStack& matrices, DType dtype, std::int64_t count) {
  matrices.data += count * matrices.stack * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

std::vector<Product> launched_products(const Product& product) {
  std::vector<Product> parts;
  Product rest = product;
  while (rest.stack > 0) {
    Product part = rest;
    part.stack = std::min(rest.stack, kHighestStack);
    parts.push_back(part);
    rest.stack -= part.stack;
    skip(rest.x, rest.operands, part.stack);
    skip(rest.w, rest.operands, part.stack);
    skip(rest.y, rest.result, part.stack);
    if (rest.epilogue.bias != nullptr) {
      rest.epilogue.bias +=
          part.stack * rest.epilogue.stack * static_cast<std::int64_t>(size_of(rest.result));
    }
  }
  return parts;
}

Launch product_launch(CudaStream& stream, const Product& product, std::byte* workspace) {
  std::vector<std::shared_ptr<const Call>> calls;
  for (const Product& part : launched_products(product)) {
    calls.push_back(std::make_shared<const Call>(stream, part, workspace));
  }
  if (calls.size() == 1) return [call = calls.front()] { (*call)(); };
  return [calls = std::move(calls)] {
    for (const auto& call : calls) (*call)();
  };
}

Trial product_trial(CudaStream& stream, const Product& product, std::byte* workspace,
                    const cublasLtMatmulAlgo_t& algorithm) {
  return [call = std::make_shared<const Call>(stream, product, workspace, algorithm)] {
    return call->enqueue();
  };
}

bool has_algorithm(CudaStream& stream, const Product& product) {
  const std::vector<Product> parts = launched_products(product);
  return std::all_of(parts.begin(), parts.end(), [&](const Product& part) {
    return Call(stream, part, nullptr).algorithm.has_value();
  });
}

}  // namespace meshwork::cuda::products
