#include "backend/cuda/products/product.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "backend/cuda/products/cublaslt.h"
#include "backend/cuda/products/problem.h"
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

cudaDataType_t data_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return CUDA_R_32F;
    case DType::kBFloat16:
      return CUDA_R_16BF;
    default:
      MW_CHECK(dtype == DType::kFloat16, "a product of {}", to_string(dtype));
      return CUDA_R_16F;
  }
}

/// A description that cuBLASLt keeps, given back in the end.
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

template <class Handle, class Attribute, class Value>
void set(cublasStatus_t (*function)(Handle, Attribute, const void*, std::size_t),
         const Owned<Handle>& owner, Attribute attribute, Value value) {
  check(function(owner.get(), attribute, &value, sizeof value), "describing a product");
}

Owned<cublasLtMatmulDesc_t> describe_operation(const Problem& problem) {
  cublasLtMatmulDesc_t made = nullptr;
  const cublasComputeType_t compute =
      problem.tensor_float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check(cublaslt().cublasLtMatmulDescCreate(&made, compute, CUDA_R_32F), "describing a product");
  Owned<cublasLtMatmulDesc_t> operation(made, cublaslt().cublasLtMatmulDescDestroy);
  const auto set_transposed = [&](cublasLtMatmulDescAttributes_t attribute, bool is_transposed) {
    const cublasOperation_t value = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(cublaslt().cublasLtMatmulDescSetAttribute, operation, attribute,
        static_cast<std::int32_t>(value));
  };
  set_transposed(CUBLASLT_MATMUL_DESC_TRANSA, problem.a.is_transposed);
  set_transposed(CUBLASLT_MATMUL_DESC_TRANSB, problem.b.is_transposed);
  return operation;
}

Owned<cublasLtMatrixLayout_t> describe_matrix(const Operand& operand, DType dtype,
                                              std::int64_t rows, std::int64_t columns,
                                              std::int64_t stack) {
  if (operand.is_transposed) std::swap(rows, columns);
  cublasLtMatrixLayout_t made = nullptr;
  check(cublaslt().cublasLtMatrixLayoutCreate(&made, data_type_of(dtype),
                                              static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), operand.leading),
        "describing a matrix");
  Owned<cublasLtMatrixLayout_t> layout(made, cublaslt().cublasLtMatrixLayoutDestroy);
  if (stack > 1) {
    const auto set_attribute = cublaslt().cublasLtMatrixLayoutSetAttribute;
    set(set_attribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
        static_cast<std::int32_t>(stack));
    set(set_attribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.stack);
  }
  return layout;
}

/// What algorithms may be chosen. A sum that is split is added up in float32, in scratch memory of
/// its own, in a fixed order.
Owned<cublasLtMatmulPreference_t> describe_choice(const Problem& problem) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublaslt().cublasLtMatmulPreferenceCreate(&made), "describing a product");
  Owned<cublasLtMatmulPreference_t> choice(made, cublaslt().cublasLtMatmulPreferenceDestroy);
  const auto set_attribute = cublaslt().cublasLtMatmulPreferenceSetAttribute;
  set(set_attribute, choice, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<std::uint64_t>(problem.workspace));
  constexpr std::uint32_t kSchemes =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(set_attribute, choice, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kSchemes);
  const auto set_alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                                 const Operand& operand) {
    set(set_attribute, choice, attribute, static_cast<std::uint32_t>(operand.alignment));
  };
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.a);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.b);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.y);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.y);
  return choice;
}

/// A problem in cuBLASLt's words.
struct Description {
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a, b, y;

  explicit Description(const Problem& p)
      : operation(describe_operation(p)),
        a(describe_matrix(p.a, p.operands, p.rows, p.depth, p.stack)),
        b(describe_matrix(p.b, p.operands, p.depth, p.columns, p.stack)),
        y(describe_matrix(p.y, p.result, p.rows, p.columns, p.stack)) {}
};

[[noreturn]] void fail_without_algorithm(const Gpu& gpu, DType operands, const std::string& text,
                                         cublasStatus_t status) {
  constexpr int kFirstOfBFloat16 = 80;
  const bool is_too_old = operands == DType::kBFloat16 && gpu.capability() < kFirstOfBFloat16;
  fail("device cuda: cuBLASLt has no algorithm for {}: {}; {}, or say device: cpu", text,
       cublaslt().cublasLtGetStatusString(status),
       is_too_old ? "GPUs multiply bfloat16 from compute capability 8.0 on: say precision: "
                    "mixed_float16"
                  : "update cuBLAS");
}

cublasLtMatmulAlgo_t choose_algorithm(const Gpu& gpu, cublasLtHandle_t handle,
                                      const Problem& problem, const Description& description,
                                      const std::string& text) {
  const Owned<cublasLtMatmulPreference_t> choice = describe_choice(problem);
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
      handle, description.operation.get(), description.a.get(), description.b.get(),
      description.y.get(), description.y.get(), choice.get(), 1, &result, &count);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = count > 0 ? result.state : CUBLAS_STATUS_NOT_SUPPORTED;
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail_without_algorithm(gpu, problem.operands, text, status);
  }
  return result.algo;
}

/// The algorithm of a problem, chosen once for a GPU.
cublasLtMatmulAlgo_t algorithm_of(Gpu& gpu, const Problem& problem, const Description& description,
                                  const std::string& text) {
  static std::mutex mutex;
  static std::map<std::pair<int, Problem>, cublasLtMatmulAlgo_t> chosen;
  gpu.make_current();
  cublasLtHandle_t handle = cublaslt_handle(gpu);
  const std::lock_guard lock(mutex);
  const std::pair key(gpu.number(), problem);
  const auto known = chosen.find(key);
  if (known != chosen.end()) return known->second;
  return chosen[key] = choose_algorithm(gpu, handle, problem, description, text);
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
  cublasLtMatmulAlgo_t algorithm;

  Call(CudaStream& the_stream, const Product& the_product, std::byte* the_workspace)
      : stream(the_stream),
        text(text_of(the_product)),
        product(by_columns(the_product)),
        problem(problem_of(product)),
        description(problem),
        workspace(the_workspace),
        handle(cublaslt_handle(stream.gpu())),
        algorithm(algorithm_of(stream.gpu(), problem, description, text)) {}

  void operator()() const {
    stream.gpu().make_current();
    constexpr float kOne = 1, kZero = 0;
    const cublasStatus_t status = cublaslt().cublasLtMatmul(
        handle, description.operation.get(), &kOne, product.x.data, description.a.get(),
        product.w.data, description.b.get(), &kZero, product.y.data, description.y.get(),
        product.y.data, description.y.get(), &algorithm, workspace,
        static_cast<std::size_t>(problem.workspace), stream.handle());
    check(status, text);
  }
};

void skip(MatrixStack& matrices, DType dtype, std::int64_t count) {
  matrices.data += count * matrices.stack * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

Launch product_launch(CudaStream& stream, const Product& product, std::byte* workspace) {
  if (product.stack <= kHighestStack) {
    return [call = std::make_shared<const Call>(stream, product, workspace)] { (*call)(); };
  }
  Product lower = product, rest = product;
  lower.stack = kHighestStack;
  rest.stack -= kHighestStack;
  skip(rest.x, rest.operands, kHighestStack);
  skip(rest.w, rest.operands, kHighestStack);
  skip(rest.y, rest.result, kHighestStack);
  return [first = product_launch(stream, lower, workspace),
          others = product_launch(stream, rest, workspace)] {
    first();
    others();
  };
}

}  // namespace meshwork::cuda::products
