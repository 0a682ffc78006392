#pragma once

#include "emulated_gpu/cudnn_work.h"

namespace emulated_gpu::cudnn {

/// A convolution or a gradient of one, in float32.
class ConvolutionWork : public Work {
 public:
  enum class Sought { kY, kX, kW };

  Sought sought = Sought::kY;
  Tensor x, w, y;  ///< what is sought as it is in memory
  std::vector<std::int64_t> strides, dilations, padding;

  /// Nothing of another graph.
  static std::unique_ptr<Work> of(const Descriptor& graph);
  std::unique_ptr<Work> copy() const override { return std::make_unique<ConvolutionWork>(*this); }
  std::vector<Tensor*> tensors() override { return {&x, &w, &y}; }

 private:
  void visit(Words& words) override;
  void compute_results() const override;
};

}  // namespace emulated_gpu::cudnn
