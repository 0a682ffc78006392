#include "backend/cpu/convolution_product.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

using Dims = dnnl::memory::dims;

dnnl::memory::desc describe_image(std::int64_t images, std::int64_t channels, const Dims& extents,
                                  DType dtype) {
  Dims dims{images, channels};
  dims.insert(dims.end(), extents.begin(), extents.end());
  using Tag = dnnl::memory::format_tag;
  return {dims, data_type_of(dtype), extents.size() == 2 ? Tag::nhwc : Tag::ndhwc};
}

/// [(g,) f, c, k..] of the dense [k.., c, (g f)], or of any format where `dense` is false.
dnnl::memory::desc describe_kernel(const ConvolutionPlan& plan, bool dense, DType dtype) {
  const std::int64_t filters = plan.groups * plan.out;
  Dims dims{plan.out, plan.in}, strides{1, filters};
  Dims window_strides;
  std::int64_t stride = plan.in * filters;
  for (std::size_t d = plan.slides.size(); d-- > 0;) {
    window_strides.insert(window_strides.begin(), stride);
    stride *= plan.slides[d].window;
  }
  for (const Slide& slide : plan.slides) dims.push_back(slide.window);
  strides.insert(strides.end(), window_strides.begin(), window_strides.end());
  if (plan.groups > 1) {
    dims.insert(dims.begin(), plan.groups);
    strides.insert(strides.begin(), plan.out);
  }
  if (dense) return {dims, data_type_of(dtype), strides};
  return {dims, data_type_of(dtype), dnnl::memory::format_tag::any};
}

ConvolutionTypes types_of(const ConvolutionPlan& plan, const ConvolutionTensors& t) {
  Dims x, y;
  ConvolutionTypes types;
  for (std::size_t d = 0; d < plan.slides.size(); ++d) {
    const Slide& slide = plan.slides[d];
    x.push_back(slide.x);
    y.push_back(slide.y);
    types.strides.push_back(slide.stride);
    types.dilations.push_back(slide.dilation - 1);
    types.low.push_back(slide.padding);
    types.high.push_back(plan.high[d]);
  }
  types.x = describe_image(plan.images, plan.groups * plan.in, x, t.x.type.dtype);
  types.w = describe_kernel(plan, false, t.w.type.dtype);
  // A gradient belongs to a convolution whose tensors are all like its operands.
  const DType operands = t.result == ConvolutionResult::kY ? t.x.type.dtype : t.y.type.dtype;
  types.forward_x = describe_image(plan.images, plan.groups * plan.in, x, operands);
  types.forward_w = describe_kernel(plan, false, operands);
  types.y = describe_image(plan.images, plan.groups * plan.out, y, t.y.type.dtype);
  return types;
}

std::string_view name_of(const dnnl::primitive_desc& primitive) {
  return primitive.impl_info_str();
}

/// The matrix products of one place of the window at a time are what oneDNN tries first. Measured,
/// its generated loops are up to twice as fast where these products are thin.
bool prefers_loops(const ConvolutionPlan& plan) { return plan.depthwise() || plan.in <= 48; }

std::int64_t bytes_of(const dnnl::memory::desc& desc) {
  return whole_lines(static_cast<std::int64_t>(desc.get_size()));
}

}  // namespace

bool is_direct(const dnnl::primitive_desc& primitive) {
  return !name_of(primitive).starts_with("ref") &&
         name_of(primitive).find("gemm") == std::string_view::npos;
}

ConvolutionProduct::ConvolutionProduct(ConvolutionPlan the_plan, const ConvolutionTensors& t)
    : plan(std::move(the_plan)),
      types(types_of(plan, t)),
      dense_w(describe_kernel(plan, true, t.w.type.dtype)) {
  const ConvolutionResult result = t.result;
  primitive = make_convolution(engine, result, types,
                               prefers_loops(plan) ? Preference::kLoops : Preference::kFirst);
  types.w =
      result == ConvolutionResult::kW ? primitive.diff_weights_desc(0) : primitive.weights_desc(0);
}

namespace {

/// Few implementations take padding as wide as the window, and those are slow: then zeros are
/// written around a copy.
ConvolutionProduct find_product(const Attrs& attrs, const ConvolutionTensors& t) {
  const auto plan = [&](bool with_zeros) {
    ConvolutionPlan planned = plan_convolution(attrs, t.x, t.w, t.y, with_zeros);
    // More channels fill vectors better.
    if (planned.in % kLanes != 0) planned.fold_stride();
    return planned;
  };
  if (!plan(false).padded()) return ConvolutionProduct(plan(false), t);
  try {
    ConvolutionProduct product(plan(false), t);
    if (is_direct(product.primitive)) return product;
    ConvolutionProduct with_zeros(plan(true), t);
    return is_direct(with_zeros.primitive) ? with_zeros : product;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
  return ConvolutionProduct(plan(true), t);
}

}  // namespace

ConvolutionProduct make_product(const Attrs& attrs, const ConvolutionTensors& t) {
  ConvolutionProduct product = find_product(attrs, t);
  if (is_direct(product.primitive) || machine_isa() == Isa::kAvx512) return product;
  const SerialScope alone;
  ConvolutionProduct serial = find_product(attrs, t);
  serial.serial = true;
  return serial;
}

dnnl::reorder::primitive_desc make_reorder(const ConvolutionProduct& product,
                                           ConvolutionResult result) {
  const dnnl::memory::desc& dense = product.dense_w;
  const dnnl::memory::desc& own = product.types.w;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const bool back = result == ConvolutionResult::kW;
  return {product.engine, back ? own : dense, product.engine, back ? dense : own, attributes};
}

ConvolutionWorkspace::ConvolutionWorkspace(const ConvolutionProduct& product,
                                           ConvolutionResult result)
    : reordered(product.types.w != product.dense_w) {
  w = x + (product.plan.copied ? bytes_of(product.types.x) : 0);
  scratchpad = w + (reordered ? bytes_of(product.types.w) : 0);
  end = scratchpad + bytes_of(product.primitive.scratchpad_desc());
  if (reordered) {
    const auto reorder = make_reorder(product, result);
    end = std::max(end, scratchpad + bytes_of(reorder.scratchpad_desc()));
  }
}

}  // namespace meshwork::cpu
