// y = sum over the factors of x and w that are not in y of x * w, plus a bias, as products of
// cuBLASLt, or of kernels of our own where these are too thin for it
#include <algorithm>

#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/strided_copy.h"
#include "backend/cuda/products/by_elements.h"
#include "backend/cuda/products/epilogue.h"
#include "backend/cuda/products/few_rows.h"
#include "backend/cuda/products/kernels.h"
#include "backend/cuda/products/padding.h"
#include "backend/cuda/products/product.h"
#include "backend/einsum_plan.h"
#include "backend/in_turn.h"
#include "base/check.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::products {
namespace {

/// A launch goes through one dimension of a stack. More launches than this take longer than to copy
/// the matrices into a stack of one dimension.
constexpr std::int64_t kMostLaunches = 8;

Equation equation_of(const KernelArgs& args) {
  return parse_equation(args.attrs.text("equation"), args.inputs[0].type.shape,
                        args.inputs[1].type.shape);
}

/// Whether there is nothing to multiply: y is empty, or a sum of nothing.
bool is_empty(const Equation& equation) {
  return std::any_of(equation.factors.begin(), equation.factors.end(),
                     [](const Factor& factor) { return factor.extent == 0; });
}

DType operands_of(const KernelArgs& args) {
  const DType dtype = args.inputs[0].type.dtype;
  MW_CHECK(args.inputs[1].type.dtype == dtype, "a product of two dtypes");
  return dtype;
}

/// The dimension of a stack through which one launch goes: the longest.
std::size_t longest(const Shape& stack) {
  return static_cast<std::size_t>(std::max_element(stack.begin(), stack.end()) - stack.begin());
}

EinsumPlan plan_for(const Equation& equation) {
  EinsumPlan plan = plan_einsum(equation, false);
  if (FewRows::pays(plan) || plan.stack.empty()) return plan;
  const std::int64_t launches = plan.stack_size() / plan.stack[longest(plan.stack)];
  return launches <= kMostLaunches ? plan : plan_einsum(equation, true);
}

/// The matrices at `place` in the stack, and those that follow in dimension `along`.
MatrixStack matrices_at(std::byte* data, DType dtype, const MatrixView& view, const Shape& place,
                        std::size_t along) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < place.size(); ++d) offset += place[d] * view.stack[d];
  return {data + offset * static_cast<std::int64_t>(size_of(dtype)), view.rows, view.columns,
          place.empty() ? 0 : view.stack[along]};
}

/// What is multiplied, behind the copies of a plan.
struct Tensors {
  std::byte *x = nullptr, *w = nullptr, *y = nullptr;
  DType operands, result;
  bool tensor_float32 = false;
};

/// Products of cuBLASLt: one for each place in all dimensions of the stack but one.
std::vector<Product> products_of(const EinsumPlan& plan, const Tensors& tensors,
                                 const Epilogue& epilogue) {
  const std::size_t along = longest(plan.stack);
  Shape others = plan.stack;
  if (!others.empty()) others[along] = 1;
  std::vector<Product> products;
  for (std::int64_t i = 0; i < num_elements(others); ++i) {
    Shape place(others.size());
    std::int64_t rest = i;
    for (std::size_t d = others.size(); d-- > 0; rest /= others[d]) place[d] = rest % others[d];
    products.push_back({
        .stack = plan.stack.empty() ? 1 : plan.stack[along],
        .m = plan.m,
        .n = plan.n,
        .k = plan.k,
        .operands = tensors.operands,
        .result = tensors.result,
        .x = matrices_at(tensors.x, tensors.operands, plan.x, place, along),
        .w = matrices_at(tensors.w, tensors.operands, plan.w, place, along),
        .y = matrices_at(tensors.y, tensors.result, plan.y, place, along),
        .tensor_float32 = tensors.tensor_float32,
        .epilogue = epilogue,
    });
  }
  return products;
}

/// Whatever they add: those that are worth it are copied to where cuBLASLt is fast.
std::int64_t scratch_of_products(const EinsumPlan& plan, DType operands, DType result) {
  const Product product =
      products_of(plan, {.operands = operands, .result = result}, Epilogue{}).front();
  return pays_padding(product) ? padded_workspace(product)
                               : product_workspace(plan.stack_size(), plan.m, plan.n, plan.k);
}

/// Where each part of the workspace begins, in bytes.
struct Workspace {
  std::int64_t x = 0, w = 0, y = 0, scratch = 0, end = 0;

  Workspace(const EinsumPlan& plan, DType operands, DType result) {
    const auto bytes = [](std::int64_t elements, DType dtype) {
      constexpr std::int64_t kAlignment = 256;
      return rounded_up(elements * static_cast<std::int64_t>(size_of(dtype)), kAlignment);
    };
    w = x + (plan.copy_x ? bytes(plan.x_elements(), operands) : 0);
    y = w + (plan.copy_w ? bytes(plan.w_elements(), operands) : 0);
    scratch = y + (plan.copy_y ? bytes(plan.y_elements(), result) : 0);
    end = scratch + (FewRows::pays(plan) ? FewRows::workspace(plan, operands)
                                         : scratch_of_products(plan, operands, result));
  }
};

Tensors tensors_of(const KernelArgs& args, const EinsumPlan& plan, const Workspace& workspace) {
  return {.x = plan.copy_x ? args.workspace + workspace.x : args.inputs[0].data,
          .w = plan.copy_w ? args.workspace + workspace.w : args.inputs[1].data,
          .y = plan.copy_y ? args.workspace + workspace.y : args.output.data,
          .operands = operands_of(args),
          .result = args.output.type.dtype,
          .tensor_float32 = allows_tensor_float32(args)};
}

/// Kernels of cuBLASLt may read so many bytes of a bias at once, and choosing one does not ask.
constexpr std::uintptr_t kBiasAlignment = 16;

/// The same with their epilogue if cuBLASLt can add the bias on its way, else without.
std::vector<Product> products_for(CudaStream& stream, const EinsumPlan& plan,
                                  const Tensors& tensors, const Epilogue& epilogue) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(epilogue.bias) % kBiasAlignment == 0;
  std::vector<Product> plain = products_of(plan, tensors, {});
  if (pays_padding(plain.front())) return plain;
  if (epilogue.bias != nullptr && is_aligned && !plan.copy_y && !plan.swapped &&
      plan.n == epilogue.columns) {
    std::vector<Product> products = products_of(plan, tensors, epilogue);
    const auto is_taken = [&](const Product& product) { return has_algorithm(stream, product); };
    if (std::all_of(products.begin(), products.end(), is_taken)) return products;
  }
  return plain;
}

Launch bind_products(CudaStream& stream, const std::vector<Product>& products,
                     std::byte* workspace) {
  std::vector<Launch> launches;
  for (const Product& product : products) {
    launches.push_back(pays_padding(product) ? padded_launch(stream, product, workspace)
                                             : product_launch(stream, product, workspace));
  }
  return in_turn(std::move(launches));
}

Launch copy_launch(CudaStream& stream, const std::vector<CopyDim>& dims, DType dtype,
                   const std::byte* from, std::byte* to) {
  return copy_all(stream, {{dims, from, to}}, static_cast<std::int64_t>(size_of(dtype)));
}

Workspace workspace_of(const KernelArgs& args, const EinsumPlan& plan) {
  return {plan, operands_of(args), args.output.type.dtype};
}

Launch finish(const KernelArgs& args, const Epilogue& epilogue) {
  return epilogue_launch(stream_of(args), epilogue, args.output.type.dtype, args.output.data,
                         num_elements(args.output.type.shape));
}

Launch bind_plan(const KernelArgs& args, const EinsumPlan& plan) {
  CudaStream& stream = stream_of(args);
  const Workspace workspace = workspace_of(args, plan);
  const Tensors tensors = tensors_of(args, plan, workspace);
  std::vector<Launch> launches;
  const auto copy = [&](const auto& dims, DType dtype, const std::byte* from, std::byte* to) {
    if (dims) launches.push_back(copy_launch(stream, *dims, dtype, from, to));
  };
  copy(plan.copy_x, tensors.operands, args.inputs[0].data, tensors.x);
  copy(plan.copy_w, tensors.operands, args.inputs[1].data, tensors.w);
  std::byte* const scratch = args.workspace + workspace.scratch;
  const Epilogue epilogue = epilogue_of(args);
  bool finishes = !plan.copy_y;
  if (FewRows::pays(plan)) {
    launches.push_back(FewRows::bind(stream, plan, tensors.operands, tensors.result, tensors.x,
                                     tensors.w, tensors.y, scratch,
                                     finishes ? epilogue : Epilogue{}));
  } else {
    const std::vector<Product> products = products_for(stream, plan, tensors, epilogue);
    finishes = products.front().epilogue.bias != nullptr;
    launches.push_back(bind_products(stream, products, scratch));
  }
  copy(plan.copy_y, tensors.result, tensors.y, args.output.data);
  if (epilogue.bias != nullptr && !finishes) launches.push_back(finish(args, epilogue));
  return in_turn(std::move(launches));
}

}  // namespace

std::int64_t einsum_workspace(const KernelArgs& args) {
  const Equation equation = equation_of(args);
  if (is_empty(equation)) return 0;
  const EinsumPlan plan = plan_for(equation);
  if (ByElements::pays(plan)) return 0;
  return workspace_of(args, plan).end;
}

std::vector<Product> einsum_products(const KernelArgs& args) {
  const Equation equation = equation_of(args);
  if (is_empty(equation)) return {};
  const EinsumPlan plan = plan_for(equation);
  if (ByElements::pays(plan) || FewRows::pays(plan)) return {};
  const Tensors tensors = tensors_of(args, plan, workspace_of(args, plan));
  auto products = products_for(stream_of(args), plan, tensors, epilogue_of(args));
  for (Product& product : products) {
    if (pays_padding(product)) product = padded_product(product, nullptr);
  }
  return products;
}

std::optional<Product> sole_product(const KernelArgs& args) {
  const Equation equation = equation_of(args);
  if (is_empty(equation)) return std::nullopt;
  const EinsumPlan plan = plan_for(equation);
  if (ByElements::pays(plan) || FewRows::pays(plan)) return std::nullopt;
  if (plan.copies() || !plan.stack.empty()) return std::nullopt;
  const Epilogue epilogue = epilogue_of(args);
  const Tensors tensors = tensors_of(args, plan, workspace_of(args, plan));
  const Product product = products_for(stream_of(args), plan, tensors, epilogue).front();
  const bool is_whole = epilogue.bias == nullptr || product.epilogue.bias != nullptr;
  return is_whole && !pays_padding(product) ? std::optional(product) : std::nullopt;
}

std::int64_t stack_workspace(const KernelArgs& args, std::int64_t stack) {
  const Equation equation = equation_of(args);
  if (is_empty(equation)) return 0;
  const EinsumPlan plan = plan_for(equation);
  return std::max(einsum_workspace(args), product_workspace(stack, plan.m, plan.n, plan.k));
}

Launch einsum(const KernelArgs& args) {
  const Equation equation = equation_of(args);
  const Epilogue epilogue = epilogue_of(args);
  if (is_empty(equation)) {
    const Launch zero = [&stream = stream_of(args), y = args.output.data,
                         bytes = num_bytes(args.output.type)] { stream.fill_zero(y, bytes); };
    if (epilogue.bias == nullptr || num_bytes(args.output.type) == 0) return zero;
    return in_turn({zero, finish(args, epilogue)});
  }
  const EinsumPlan plan = plan_for(equation);
  return ByElements::pays(plan) ? ByElements::bind(args, equation, epilogue)
                                : bind_plan(args, plan);
}

}  // namespace meshwork::cuda::products
