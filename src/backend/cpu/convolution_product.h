#pragma once

#include "backend/backend.h"
#include "backend/cpu/convolution_plan.h"
#include "backend/cpu/onednn.h"

namespace meshwork::cpu {

/// The tensors of a convolution by their parts in it: one of them is the result.
struct ConvolutionTensors {
  TensorView x, w, y;
  ConvolutionResult result;
};

/// A plan with what computes it.
struct ConvolutionProduct {
  ConvolutionPlan plan;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  ConvolutionTypes types;
  dnnl::memory::desc dense_w;
  dnnl::primitive_desc primitive;
  /// It runs on one thread: more of them would change its bits, as those of matrix products where
  /// the machine has no AVX-512 (gemm.h).
  bool serial = false;

  ConvolutionProduct(ConvolutionPlan the_plan, const ConvolutionTensors& t);
};

/// Whether the implementation was made for convolutions: not a naive one, nor one by way of a
/// matrix product, which first copies each element as often as it is read.
bool is_direct(const dnnl::primitive_desc& primitive);

/// The fastest that oneDNN is known to have.
ConvolutionProduct make_product(const Attrs& attrs, const ConvolutionTensors& t);

/// Between the kernel as a dense tensor and in the format of the convolution.
dnnl::reorder::primitive_desc make_reorder(const ConvolutionProduct& product,
                                           ConvolutionResult result);

/// Where each part of the workspace begins, in bytes. Scratchpads are not used at once.
struct ConvolutionWorkspace {
  bool reordered;
  std::int64_t x = 0, w = 0, scratchpad = 0, end = 0;

  ConvolutionWorkspace(const ConvolutionProduct& product, ConvolutionResult result);
};

}  // namespace meshwork::cpu
