// y = sum over the factors of x and w that are not in y of x * w, as matrix products of oneDNN
#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "backend/cpu/few_rows.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/stacked_product.h"
#include "backend/cpu/strided_copy.h"
#include "backend/cpu/widen.h"
#include "backend/einsum_plan.h"
#include "base/check.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// Below so many multiplications any implementation will do.
constexpr std::int64_t kTiny = 32 * 32 * 32;

/// Where oneDNN's GEMM, which packs both operands, is up to 17 % faster than its matmul: for so
/// many multiplications, and results of so many rows and columns. Of a transposed x it is faster
/// from fewer columns on, as in gradients of weights; on one thread by 3 to 50 % always.
constexpr std::int64_t kGemmWork = std::int64_t{1} << 28;
constexpr std::int64_t kGemmRows = 256;
constexpr std::int64_t kGemmColumns = 384;
constexpr std::int64_t kTransposedGemmColumns = 128;
constexpr std::int64_t kGemmColumnsOfTransposed = 512;

std::int64_t padded_bytes(std::int64_t elements, DType dtype) {
  return whole_lines(elements * static_cast<std::int64_t>(size_of(dtype)));
}

dnnl::memory::desc describe(const EinsumPlan& plan, const MatrixView& view, std::int64_t rows,
                            std::int64_t columns, bool transposed, DType dtype) {
  dnnl::memory::dims extents = plan.stack, strides = view.stack;
  extents.push_back(transposed ? columns : rows);
  extents.push_back(transposed ? rows : columns);
  strides.push_back(transposed ? view.columns : view.rows);
  strides.push_back(transposed ? view.rows : view.columns);
  return {extents, data_type_of(dtype), strides};
}

/// The dtypes of a product.
struct Types {
  DType operands;
  DType result;
};

Types types_of(const KernelArgs& args) {
  MW_CHECK(args.inputs[0].type.dtype == args.inputs[1].type.dtype);
  return {args.inputs[0].type.dtype, args.output.type.dtype};
}

Equation equation_of(const KernelArgs& args) {
  return parse_equation(args.attrs.text("equation"), args.inputs[0].type.shape,
                        args.inputs[1].type.shape);
}

/// A plan with its product: swapped, y^T = w^T x^T.
struct Product {
  EinsumPlan plan;
  Types types;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::memory::desc x, w, y;
  dnnl::matmul::primitive_desc matmul;

  Product(EinsumPlan the_plan, Types the_types) : plan(std::move(the_plan)), types(the_types) {
    x = describe(plan, plan.x, plan.m, plan.k, plan.swapped, types.operands);
    w = describe(plan, plan.w, plan.k, plan.n, plan.swapped, types.operands);
    y = describe(plan, plan.y, plan.m, plan.n, plan.swapped, types.result);
    const SerialScope scope(serial());
    matmul = plan.swapped ? make_matmul(engine, w, x, y) : make_matmul(engine, x, w, y);
  }

  bool serial() const { return plan.y_elements() * plan.k < kSerialProduct; }

  bool naive() const { return std::string_view(matmul.impl_info_str()).starts_with("ref"); }

  /// Whether oneDNN takes the strides of what stands first there.
  bool reads_first() const {
    return plan.swapped ? reads_rows(plan.n, plan.w.rows) : reads_rows(plan.m, plan.x.columns);
  }

  bool by_stack() const { return types.operands == DType::kFloat32 && StackedProduct::pays(plan); }

  bool by_gemm() const {
    if (types.operands != DType::kFloat32 || !Gemm::can_compute(plan)) return false;
    const bool turns_x = plan.x.columns != 1, turns_w = plan.w.columns != 1;
    if (serial()) return turns_x && !turns_w;
    const std::int64_t columns = turns_w   ? kGemmColumnsOfTransposed
                                 : turns_x ? kTransposedGemmColumns
                                           : kGemmColumns;
    return plan.m >= kGemmRows && plan.n >= columns && plan.m * plan.n * plan.k >= kGemmWork;
  }

  std::int64_t scratchpad_bytes() const {
    if (by_stack() || by_gemm()) return 0;
    return static_cast<std::int64_t>(matmul.scratchpad_desc().get_size());
  }
};

/// oneDNN takes some strides wrongly, only with its naive implementation, or not at all: then all
/// is copied.
Product make_product(const Equation& equation, const KernelArgs& args) {
  const Types types = types_of(args);
  try {
    Product product(plan_einsum(equation, false), types);
    const EinsumPlan& plan = product.plan;
    const bool is_tiny = plan.y_elements() * plan.k <= kTiny;
    if (product.reads_first() && (!product.naive() || is_tiny)) return product;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
  return {plan_einsum(equation, true), types};
}

/// Where each part of the workspace begins, in bytes.
struct Workspace {
  std::int64_t x = 0, w = 0, y = 0, scratchpad = 0, end = 0;

  explicit Workspace(const Product& product) {
    const EinsumPlan& plan = product.plan;
    const Types& types = product.types;
    w = x + (plan.copy_x ? padded_bytes(plan.x_elements(), types.operands) : 0);
    y = w + (plan.copy_w ? padded_bytes(plan.w_elements(), types.operands) : 0);
    scratchpad = y + (plan.copy_y ? padded_bytes(plan.y_elements(), types.result) : 0);
    end = scratchpad + product.scratchpad_bytes();
  }
};

struct BoundCopy {
  StridedCopy copy;
  const std::byte* from;
  std::byte* to;
};

/// The product with its memory, ready to run.
struct Call {
  dnnl::stream stream;
  bool serial = false;
  std::function<void()> product{};  ///< in place of the primitive
  dnnl::matmul primitive{};
  std::vector<dnnl::memory> memories{};
  std::array<dnnl_exec_arg_t, 4> arguments{};
  std::vector<BoundCopy> before{}, after{};

  void operator()() const {
    const SerialScope scope(serial);
    for (const BoundCopy& copy : before) copy.copy.run(copy.from, copy.to);
    product ? product() : execute();
    for (const BoundCopy& copy : after) copy.copy.run(copy.from, copy.to);
  }

  void execute() const {
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()),
                               arguments.data()),
        "a matrix product failed");
  }
};

Call make_call(const KernelArgs& args, const Product& product) {
  const EinsumPlan& plan = product.plan;
  const Workspace workspace(product);
  std::byte* x = args.inputs[0].data;
  std::byte* w = args.inputs[1].data;
  std::byte* y = args.output.data;
  Call call{dnnl::stream(product.engine), product.serial()};
  if (plan.copy_x) {
    call.before.push_back(
        {{*plan.copy_x, product.types.operands}, x, args.workspace + workspace.x});
    x = args.workspace + workspace.x;
  }
  if (plan.copy_w) {
    call.before.push_back(
        {{*plan.copy_w, product.types.operands}, w, args.workspace + workspace.w});
    w = args.workspace + workspace.w;
  }
  if (plan.copy_y) {
    call.after.push_back({{*plan.copy_y, product.types.result}, args.workspace + workspace.y, y});
    y = args.workspace + workspace.y;
  }
  if (product.by_stack()) {
    call.product = StackedProduct(plan, x, w, y);
    return call;
  }
  if (product.by_gemm()) {
    call.product = Gemm(plan, x, w, y);
    return call;
  }
  call.primitive = dnnl::matmul(product.matmul);  // generates its code
  const auto add = [&](int name, const dnnl::memory::desc& desc, std::byte* data) {
    call.arguments[call.memories.size()].arg = name;
    call.memories.emplace_back(desc, product.engine, data);
    call.arguments[call.memories.size() - 1].memory = call.memories.back().get();
  };
  add(plan.swapped ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC, product.x, x);
  add(plan.swapped ? DNNL_ARG_SRC : DNNL_ARG_WEIGHTS, product.w, w);
  add(DNNL_ARG_DST, product.y, y);
  add(DNNL_ARG_SCRATCHPAD, product.matmul.scratchpad_desc(),
      product.scratchpad_bytes() > 0 ? args.workspace + workspace.scratchpad : nullptr);
  return call;
}

/// Whether there is nothing to multiply: y is empty, or a sum of nothing.
bool is_empty(const Equation& equation) {
  return std::any_of(equation.factors.begin(), equation.factors.end(),
                     [](const Factor& factor) { return factor.extent == 0; });
}

/// The product by few rows, which needs no primitive, and calls use(it); false where it does not
/// pay.
template <class Use>
bool by_few_rows(const KernelArgs& args, const Use& use) {
  const Equation equation = equation_of(args);
  if (is_empty(equation)) return false;
  const EinsumPlan plan = plan_einsum(equation, false);
  if (!FewRows::pays(plan)) return false;
  const Types types = types_of(args);
  use(FewRows{plan, types.operands, types.result});
  return true;
}

std::int64_t product_workspace(const KernelArgs& args) {
  const Equation equation = equation_of(args);
  return is_empty(equation) ? 0 : Workspace(make_product(equation, args)).end;
}

Launch bind(const KernelArgs& args) {
  const Equation equation = equation_of(args);
  if (is_empty(equation)) {
    const auto bytes = static_cast<std::size_t>(num_bytes(args.output.type));
    return [y = args.output.data, bytes] {
      if (bytes > 0) std::memset(y, 0, bytes);
    };
  }
  return make_call(args, make_product(equation, args));
}

}  // namespace

std::int64_t einsum_workspace(const KernelArgs& args) {
  std::int64_t bytes = 0;
  if (by_few_rows(args, [&](const FewRows& rows) { bytes = rows.workspace_bytes(); })) return bytes;
  return multiplies(types_of(args).operands) ? product_workspace(args)
                                             : widened_workspace(args, product_workspace);
}

Launch einsum(const KernelArgs& args) {
  Launch launch;
  const bool by_rows = by_few_rows(args, [&](const FewRows& rows) {
    launch = rows.bind(args.inputs[0].data, args.inputs[1].data, args.output.data, args.workspace);
  });
  if (by_rows) return launch;
  return multiplies(types_of(args).operands) ? bind(args) : bind_widened(args, bind);
}

}  // namespace meshwork::cpu
