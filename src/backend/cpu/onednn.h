#pragma once

#include <dnnl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"
#include "base/error.h"

namespace meshwork::cpu {

/// All that differs between the interfaces of oneDNN 2 and 3.

/// How oneDNN calls float32 or bfloat16.
inline dnnl::memory::data_type data_type_of(DType dtype) {
  using Type = dnnl::memory::data_type;
  MW_CHECK(is_floating(dtype), "{} is not multiplied", to_string(dtype));
  return dtype == DType::kBFloat16 ? Type::bf16 : Type::f32;
}

/// Whether operands of this dtype are given to oneDNN, or widened before. Few machines have
/// instructions for float16, and on those without oneDNN has no product of it.
inline bool multiplies(DType dtype) {
  if (dtype != DType::kBFloat16) return dtype != DType::kFloat16;
  const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
  const unsigned needed = bits(dnnl::cpu_isa::avx512_core);
  static const unsigned there = bits(dnnl::get_effective_cpu_isa());
  return (there & needed) == needed;
}

/// oneDNN counts in 32 bits here and there, and divides by what is left of a larger extent.
inline void check_extents(const dnnl::memory::desc& matrix) {
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::memory::dims extents = matrix.get_dims();
#else
  const dnnl::memory::dims extents = matrix.dims();
#endif
  for (const std::int64_t extent : extents) {
    if (extent <= std::numeric_limits<std::int32_t>::max()) continue;
    fail(
        "a product of matrices has {} rows or columns on one device, more than 2^31 - 1; take "
        "smaller layers or a smaller batch, or shard over more devices",
        extent);
  }
}

/// Whether a product takes rows of x whose elements lie apart. Of a stack of x of one row oneDNN
/// 3.7 reads what lies side by side instead, and says nothing.
inline bool reads_rows(std::int64_t rows, std::int64_t column_stride) {
  return DNNL_VERSION_MAJOR < 3 || rows > 1 || column_stride == 1;
}

/// A matrix product, [.., m, k] [.., k, n] -> [.., m, n], which is added to what is there if it
/// `adds`; throws dnnl::error if oneDNN has no implementation for these strides. Memory for its
/// scratchpad is given when it runs.
inline dnnl::matmul::primitive_desc make_matmul(const dnnl::engine& engine,
                                                const dnnl::memory::desc& x,
                                                const dnnl::memory::desc& w,
                                                const dnnl::memory::desc& y, bool adds = false) {
  for (const auto* matrix : {&x, &w, &y}) check_extents(*matrix);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (adds) {
    dnnl::post_ops operations;
    operations.append_sum();
    attributes.set_post_ops(operations);
  }
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
  dnnl::memory::desc forward_x, forward_w;  ///< in the dtype of the operands, whatever the result
  dnnl::memory::dims strides, dilations, low, high;  ///< dilations: 0 is dense
};

/// Which implementation of a convolution is taken: the first that oneDNN offers, or the first of
/// those whose loops it generates itself, if there is one.
enum class Preference { kFirst, kLoops };

/// `make` makes the first implementation: going to the next one changes all copies in oneDNN 3.
template <class Make>
dnnl::primitive_desc choose(const Make& make, Preference preference) {
  constexpr int kMany = 16;  // more than there are
  if (preference == Preference::kLoops) {
    auto candidate = make();
    const auto starts_with = [&](std::string_view name) {
      return std::string_view(candidate.impl_info_str()).starts_with(name);
    };
    for (int i = 0; i < kMany && starts_with("br"); ++i) {
      if (!candidate.next_impl()) break;
    }
    if (starts_with("jit")) return candidate;
  }
  return make();
}

/// An implementation of a convolution; throws dnnl::error if there is none. Memory for its
/// scratchpad is given when it runs. `w` may be of any format.
inline dnnl::primitive_desc make_convolution(const dnnl::engine& engine, ConvolutionResult result,
                                             const ConvolutionTypes& t, Preference preference) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto direct = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  using Input = dnnl::convolution_backward_data;
  using Kernel = dnnl::convolution_backward_weights;
  // Operations and hints must live while implementations are gone through.
#if DNNL_VERSION_MAJOR >= 3
  const auto forward = [&] {
    return Forward::primitive_desc(engine, dnnl::prop_kind::forward_training, direct, t.forward_x,
                                   t.forward_w, t.y, t.strides, t.dilations, t.low, t.high,
                                   attributes);
  };
  const Forward::primitive_desc hint = forward();
  const auto input = [&] {
    return Input::primitive_desc(engine, direct, t.x, t.w, t.y, t.strides, t.dilations, t.low,
                                 t.high, hint, attributes);
  };
#else
  const Forward::desc forward_operation(dnnl::prop_kind::forward_training, direct, t.forward_x,
                                        t.forward_w, t.y, t.strides, t.dilations, t.low, t.high);
  const auto forward = [&] {
    return Forward::primitive_desc(forward_operation, attributes, engine);
  };
  const Forward::primitive_desc hint = forward();
  const Input::desc input_operation(direct, t.x, t.w, t.y, t.strides, t.dilations, t.low, t.high);
  const auto input = [&] {
    return Input::primitive_desc(input_operation, attributes, engine, hint);
  };
#endif
  if (result == ConvolutionResult::kY) return choose(forward, preference);
  if (result == ConvolutionResult::kX) return choose(input, preference);
#if DNNL_VERSION_MAJOR >= 3
  return Kernel::primitive_desc(engine, direct, t.x, t.w, t.y, t.strides, t.dilations, t.low,
                                t.high, hint, attributes);
#else
  return Kernel::primitive_desc({direct, t.x, t.w, t.y, t.strides, t.dilations, t.low, t.high},
                                attributes, engine, hint);
#endif
}

}  // namespace meshwork::cpu
