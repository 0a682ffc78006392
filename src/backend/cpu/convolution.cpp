// With i = o * stride - padding + k * dilation, as far as x has it:
//
// convolution:                 y[o, f] = sum over k, c of x[i, c] w[k, c, f]
// convolution_backward_data:   x[i, c] = sum over o, k, f of y[o, f] w[k, c, f]
// convolution_backward_filter: w[k, c, f] = sum over o of x[i, c] y[o, f]
//
// By the convolutions of oneDNN, which take images as they are, channels last, and kernels in a
// format of their own, into which they are brought at each launch. The gradient of few channels is
// a convolution of y, with the kernel flipped.
#include <optional>
#include <tuple>
#include <vector>

#include "backend/cpu/convolution_product.h"
#include "backend/cpu/kernel_parts.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/widen.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

using Result = ConvolutionResult;
using Tensors = ConvolutionTensors;
using Product = ConvolutionProduct;
using Workspace = ConvolutionWorkspace;

/// Up to so many channels, in whole vectors, a convolution with the flipped kernel is 7 to 12 %
/// faster than oneDNN's gradient with respect to images.
constexpr std::int64_t kFlipped = 64;

/// A primitive with its memory, ready to run without an allocation.
struct Call {
  dnnl::primitive primitive;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;

  Call(const dnnl::engine& engine, dnnl::primitive the_primitive,
       const std::vector<std::tuple<int, dnnl::memory::desc, std::byte*>>& operands)
      : primitive(std::move(the_primitive)) {
    for (const auto& [name, type, data] : operands) {
      memories.emplace_back(type, engine, type.get_size() > 0 ? data : nullptr);
      arguments.push_back({name, memories.back().get()});
    }
  }

  void run(const dnnl::stream& stream) const {
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()),
                               arguments.data()),
        "a convolution failed");
  }
};

/// All that a launch does, in order; the copy goes to x where x is the result, else from it.
struct Steps {
  Result result;
  dnnl::stream stream;
  std::vector<Call> calls;
  bool serial;
  std::optional<StridedCopy> copy;
  std::byte *x = nullptr, *stand_in = nullptr;
  ConvolutionPlan plan;
  std::int64_t x_bytes = 0, element = 0;  ///< bytes of x and of one of its elements

  std::byte* at(std::byte* data, std::int64_t place) const { return data + place * element; }

  void operator()() const {
    if (copy && result != Result::kX) {
      if (!plan.is_all_copied()) set_zero(stand_in, plan.copy_elements * element);
      copy->run(at(x, plan.copy_from), at(stand_in, plan.copy_to));
    }
    run_calls();
    if (copy && result == Result::kX) {
      if (!plan.x_is_covered) set_zero(x, x_bytes);
      copy->run(at(stand_in, plan.copy_to), at(x, plan.copy_from));
    }
  }

  void run_calls() const {
    const SerialScope scope(serial);
    for (const Call& call : calls) call.run(stream);
  }
};

std::vector<Call> make_calls(const Product& product, const Tensors& t, std::byte* x,
                             std::byte* workspace) {
  const Workspace places(product, t.result);
  const dnnl::engine& engine = product.engine;
  std::byte* const w = places.reordered ? workspace + places.w : t.w.data;
  std::byte* const scratchpad = workspace + places.scratchpad;
  const bool of_x = t.result == Result::kX, of_w = t.result == Result::kW;
  std::vector<Call> calls;
  calls.push_back({engine,
                   product.primitive,
                   {{of_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, product.types.x, x},
                    {of_w ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, product.types.w, w},
                    {of_x || of_w ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, product.types.y, t.y.data},
                    {DNNL_ARG_SCRATCHPAD, product.primitive.scratchpad_desc(), scratchpad}}});
  if (!places.reordered) return calls;
  const auto desc = make_reorder(product, t.result);
  const dnnl::memory::desc dense = product.dense_w;
  const Call reorder(engine, dnnl::reorder(desc),
                     {{DNNL_ARG_FROM, of_w ? product.types.w : dense, of_w ? w : t.w.data},
                      {DNNL_ARG_TO, of_w ? dense : product.types.w, of_w ? t.w.data : w},
                      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), scratchpad}});
  calls.insert(of_w ? calls.end() : calls.begin(), reorder);
  return calls;
}

std::vector<CopyDim> reversed(std::vector<CopyDim> dims) {
  for (CopyDim& dim : dims) std::swap(dim.from, dim.to);
  return dims;
}

bool is_empty(const Attrs& attrs, const Tensors& t) {
  return plan_convolution(attrs, t.x, t.w, t.y, false).empty;
}

/// The kernel with its window reversed and filters before channels, and the convolution with it.
struct Flipped {
  Product product;
  StridedCopy copy;
  std::int64_t begin = 0;  ///< byte of the kernel that comes first
  std::int64_t bytes = 0;  ///< of the flipped kernel

  Flipped(const ConvolutionPlan& plan, const Tensors& t)
      : product(plan, {t.y, t.w, t.x, Result::kY}), copy(copy_dims(plan), t.w.type.dtype) {
    const auto size = static_cast<std::int64_t>(size_of(t.w.type.dtype));
    const std::int64_t matrix = plan.in * plan.out * size, places = window_of(plan);
    begin = (places - 1) * matrix;
    bytes = whole_lines(places * matrix);
  }

  static std::int64_t window_of(const ConvolutionPlan& plan) {
    std::int64_t places = 1;
    for (const Slide& slide : plan.slides) places *= slide.window;
    return places;
  }

  static std::vector<CopyDim> copy_dims(const ConvolutionPlan& plan) {
    const std::int64_t matrix = plan.in * plan.out;
    return {{window_of(plan), -matrix, matrix}, {plan.in, 1, plan.out}, {plan.out, plan.in, 1}};
  }
};

std::optional<Flipped> flipped(const Attrs& attrs, const Tensors& t) {
  if (t.result != Result::kX) return std::nullopt;
  const ConvolutionPlan plan = plan_convolution(attrs, t.x, t.w, t.y, false);
  const bool whole = plan.in % kLanes == 0 && plan.out % kLanes == 0;
  if (!whole || plan.in > kFlipped || plan.out > kFlipped) return std::nullopt;
  const auto gradient = plan.of_gradient();
  if (!gradient || Flipped::window_of(plan) == 1) return std::nullopt;
  try {
    Flipped found(*gradient, t);
    if (is_direct(found.product.primitive)) return found;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
  return std::nullopt;
}

Launch bind_flipped(const KernelArgs& args, const Tensors& t, const Flipped& flip) {
  std::byte* const kernel = args.workspace;
  Tensors u{t.y, t.w, t.x, Result::kY};
  u.w.data = kernel;
  auto calls = make_calls(flip.product, u, u.x.data, args.workspace + flip.bytes);
  return [copy = flip.copy, from = t.w.data + flip.begin, kernel, calls = std::move(calls),
          stream = dnnl::stream(flip.product.engine)] {
    copy.run(from, kernel);
    for (const Call& call : calls) call.run(stream);
  };
}

std::int64_t workspace_of(const Attrs& attrs, const Tensors& t) {
  if (is_empty(attrs, t)) return 0;
  if (const auto flip = flipped(attrs, t)) {
    return flip->bytes + Workspace(flip->product, Result::kY).end;
  }
  return Workspace(make_product(attrs, t), t.result).end;
}

Launch bind(const KernelArgs& args, const Tensors& t) {
  if (is_empty(args.attrs, t)) {
    return [y = args.output.data, bytes = num_bytes(args.output.type)] { set_zero(y, bytes); };
  }
  if (const auto flip = flipped(args.attrs, t)) return bind_flipped(args, t, *flip);
  const Product product = make_product(args.attrs, t);
  const ConvolutionPlan& plan = product.plan;
  Steps steps{t.result,
              dnnl::stream(product.engine),
              {},
              product.serial,
              {},
              t.x.data,
              t.x.data,
              plan,
              num_bytes(t.x.type),
              static_cast<std::int64_t>(size_of(t.x.type.dtype))};
  if (plan.copied) {
    steps.stand_in = args.workspace + Workspace(product, t.result).x;
    steps.copy.emplace(t.result == Result::kX ? reversed(plan.copy) : plan.copy, t.x.type.dtype);
  }
  steps.calls = make_calls(product, t, steps.stand_in, args.workspace);
  return steps;
}

Tensors tensors_for_y(const KernelArgs& args) {
  return {args.inputs[0], args.inputs[1], args.output, Result::kY};
}

Tensors tensors_for_x(const KernelArgs& args) {
  return {args.output, args.inputs[1], args.inputs[0], Result::kX};
}

Tensors tensors_for_w(const KernelArgs& args) {
  return {args.inputs[0], args.output, args.inputs[1], Result::kW};
}

Launch bind_y(const KernelArgs& args) { return bind(args, tensors_for_y(args)); }
Launch bind_x(const KernelArgs& args) { return bind(args, tensors_for_x(args)); }
Launch bind_part_of_w(const KernelArgs& args) { return bind(args, tensors_for_w(args)); }

std::int64_t workspace_y(const KernelArgs& args) {
  return workspace_of(args.attrs, tensors_for_y(args));
}

std::int64_t workspace_x(const KernelArgs& args) {
  return workspace_of(args.attrs, tensors_for_x(args));
}

std::int64_t workspace_of_part(const KernelArgs& args) {
  return workspace_of(args.attrs, tensors_for_w(args));
}

/// oneDNN would add up the gradient of a kernel in an order that depends on the threads.
Launch bind_w(const KernelArgs& args) {
  return bind_kernel_parts(args, bind_part_of_w, workspace_of_part);
}

std::int64_t workspace_w(const KernelArgs& args) {
  return kernel_parts_workspace(args, workspace_of_part);
}

std::int64_t workspace(const KernelArgs& args, WorkspaceBytes bytes) {
  return multiplies(args.inputs[0].type.dtype) ? bytes(args) : widened_workspace(args, bytes);
}

Launch launch(const KernelArgs& args, Bind bind) {
  return multiplies(args.inputs[0].type.dtype) ? bind(args) : bind_widened(args, bind);
}

}  // namespace

Launch convolution(const KernelArgs& args) { return launch(args, bind_y); }

std::int64_t convolution_workspace(const KernelArgs& args) { return workspace(args, workspace_y); }

Launch convolution_backward_data(const KernelArgs& args) { return launch(args, bind_x); }

std::int64_t convolution_backward_data_workspace(const KernelArgs& args) {
  return workspace(args, workspace_x);
}

Launch convolution_backward_filter(const KernelArgs& args) { return launch(args, bind_w); }

std::int64_t convolution_backward_filter_workspace(const KernelArgs& args) {
  return workspace(args, workspace_w);
}

}  // namespace meshwork::cpu
