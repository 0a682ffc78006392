#pragma once

#include "emulated_gpu/cudnn_work.h"

namespace emulated_gpu::cudnn {

/// A step from tensors to one other, each by its number among those of the work.
struct Operation {
  enum class Kind { kProduct, kPointwise, kReduction, kReshape };

  Kind kind = Kind::kPointwise;
  std::int64_t mode = 0;  ///< a cudnnPointwiseMode_t, or a cudnnReduceTensorOp_t
  std::int64_t axis = 0;  ///< of indices
  std::vector<std::size_t> from;
  std::size_t to = 0;
};

/// Operations one after the other, each on all numbers. What is not in memory is rounded to its
/// type, too, and what tensor cores multiply to 16 bits.
class OperationsWork : public Work {
 public:
  std::vector<Tensor> all;  ///< virtual ones, too
  std::vector<Operation> operations;

  /// Nothing of a graph with other operations, with tensors that differ under one number, that is
  /// out of order, or with a virtual tensor that has gaps.
  static std::unique_ptr<OperationsWork> of(const Descriptor& graph);
  std::unique_ptr<Work> copy() const override { return std::make_unique<OperationsWork>(*this); }
  std::vector<Tensor*> tensors() override;

 private:
  void visit(Words& words) override;
  void compute_results() const override;
};

}  // namespace emulated_gpu::cudnn
