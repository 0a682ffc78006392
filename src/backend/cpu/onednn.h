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

}  // namespace meshwork::cpu
