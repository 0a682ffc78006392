#pragma once

#include <dnnl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace meshwork::cpu {

/// All that differs between the interfaces of oneDNN 2 and 3.

/// A matrix product of float32 tensors, [.., m, k] [.., k, n] -> [.., m, n], each with any strides
/// that oneDNN has an implementation for; throws dnnl::error if there is none. Memory for its
/// scratchpad is given when it runs.
inline dnnl::matmul::primitive_desc make_matmul(const dnnl::engine& engine,
                                                const dnnl::memory::desc& x,
                                                const dnnl::memory::desc& w,
                                                const dnnl::memory::desc& y) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, x, w, y, attributes};
#else
  return {dnnl::matmul::desc(x, w, y), attributes, engine};
#endif
}

/// What a convolution computes: y of x and w, x of w and y, or w of x and y.
enum class ConvolutionResult { kY, kX, kW };

/// Images and kernels of a convolution: x [n, c, ..], w [f, c, ..] or [g, f, c, ..], y [n, f, ..].
struct ConvolutionTypes {
  dnnl::memory::desc x, w, y;
  dnnl::memory::dims strides, dilations, low, high;  ///< dilations: 0 is dense
};

/// The first implementation but `skipped` of a convolution; throws dnnl::error if there is none.
/// Memory for its scratchpad is given when it runs. `w` may be of any format.
inline dnnl::primitive_desc make_convolution(const dnnl::engine& engine, ConvolutionResult result,
                                             const ConvolutionTypes& t, int skipped) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto direct = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  using Input = dnnl::convolution_backward_data;
  using Kernel = dnnl::convolution_backward_weights;
  // Operations must live while their implementations are gone through.
#if DNNL_VERSION_MAJOR >= 3
  Forward::primitive_desc forward(engine, dnnl::prop_kind::forward_training, direct, t.x, t.w, t.y,
                                  t.strides, t.dilations, t.low, t.high, attributes);
#else
  const Forward::desc operation(dnnl::prop_kind::forward_training, direct, t.x, t.w, t.y, t.strides,
                                t.dilations, t.low, t.high);
  Forward::primitive_desc forward(operation, attributes, engine);
#endif
  if (result == ConvolutionResult::kY) {
    for (int i = 0; i < skipped; ++i) {
      if (!forward.next_impl()) break;
    }
    return forward;
  }
  if (result == ConvolutionResult::kX) {
#if DNNL_VERSION_MAJOR >= 3
    return Input::primitive_desc(engine, direct, t.x, t.w, t.y, t.strides, t.dilations, t.low,
                                 t.high, forward, attributes);
#else
    return Input::primitive_desc({direct, t.x, t.w, t.y, t.strides, t.dilations, t.low, t.high},
                                 attributes, engine, forward);
#endif
  }
#if DNNL_VERSION_MAJOR >= 3
  return Kernel::primitive_desc(engine, direct, t.x, t.w, t.y, t.strides, t.dilations, t.low,
                                t.high, forward, attributes);
#else
  return Kernel::primitive_desc({direct, t.x, t.w, t.y, t.strides, t.dilations, t.low, t.high},
                                attributes, engine, forward);
#endif
}

}  // namespace meshwork::cpu
