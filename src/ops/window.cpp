#include "ops/window.h"

#include "base/check.h"
#include "ops/result_dtype.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

Reach forward_reach(const Window1d& w) {
  return {.up = w.stride,
          .down = 1,
          .first = 0,
          .last = 0,
          .begin = -w.padding,
          .end = w.span() - 1 - w.padding};
}

Reach backward_reach(const Window1d& w) {
  return {.up = 1,
          .down = w.stride,
          .first = w.padding - w.span() + 1,
          .last = w.padding,
          .begin = 0,
          .end = 0};
}

Reach neighbour_reach(const Window1d& w) {
  const Reach results = backward_reach(w);
  const Reach elements = forward_reach(w);
  return {.up = w.stride,
          .down = w.stride,
          .first = results.first,
          .last = results.last,
          .begin = elements.begin,
          .end = elements.end};
}

Window1d window_of(const Attrs& attrs, std::size_t i, std::int64_t extent) {
  return {.window = extent,
          .stride = attrs.integers("strides")[i],
          .padding = attrs.integers("padding")[i],
          .dilation = attrs.find("dilations") != nullptr ? attrs.integers("dilations")[i] : 1};
}

Window1d window_of(const Attrs& attrs, std::size_t i) {
  return window_of(attrs, i, attrs.integers("window")[i]);
}

Reach pool_reach(const OpArgs& args, std::size_t /*operand*/, std::size_t dim) {
  return forward_reach(window_of(args.attrs, dim - 1));
}

Reach pool_input_reach(const OpArgs& args, std::size_t /*operand*/, std::size_t dim) {
  return backward_reach(window_of(args.attrs, dim - 1));
}

std::string pool_rule(const OpArgs& args) {
  const std::size_t spatial = args.attrs.integers("extents").size();
  std::string operand = "n";
  std::string result = "n";
  for (std::size_t i = 0; i < spatial; ++i) {
    operand += " " + factor_name(i) + "~";
    result += " " + factor_name(i);
  }
  std::string text = operand + " ch";
  for (std::size_t i = 1; i < args.inputs.size(); ++i) text += ", " + operand + " ch";
  return text + " -> " + result + " ch";
}

TensorType infer_pool(const OpArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const auto& extents = args.attrs.integers("extents");
  MW_CHECK(x.size() == extents.size() + 2, "{} has not {} spatial dimensions", to_string(x),
           extents.size());
  return image_type(args, x.back());
}

TensorType image_type(const OpArgs& args, std::int64_t channels) {
  const auto& extents = args.attrs.integers("extents");
  TensorType result{result_dtype(args), {args.inputs[0].shape.front()}};
  result.shape.insert(result.shape.end(), extents.begin(), extents.end());
  result.shape.push_back(channels);
  return result;
}

double pool_flops(const OpArgs& args) {
  const std::int64_t count =
      std::min(num_elements(args.inputs[0].shape), num_elements(args.output.shape));
  return static_cast<double>(count * num_elements(args.attrs.integers("window")));
}

Attrs with_extents(const Attrs& attrs, const Shape& shape) {
  Attrs result = attrs;
  result.set("extents", Shape(shape.begin() + 1, shape.end() - 1));
  return result;
}

}  // namespace meshwork::ops
