#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cuda/windows/cudnn/by_cudnn.h"

namespace meshwork::cuda::windows {

/// A tensor of cuDNN: [n, channels, spatial..], in memory channels last.
struct Tensor {
  std::int64_t id = 0;
  DType dtype;
  std::vector<std::int64_t> dims;
  std::int64_t alignment = 1;  ///< of its address, bytes: at most 16
};

/// A task in cuDNN's words: all that decides on its algorithm.
struct Problem {
  Sought sought = Sought::kY;
  bool tensor_float32 = false;
  std::int64_t workspace = 0;  ///< bytes that the algorithm may take
  Tensor x, w, y;              ///< numbers 1, 2, 3; of w the dims are [filters, channels, window..]
  /// Of the spatial dimensions: two, or three where there are three.
  std::vector<std::int64_t> strides, dilations, padding, padding_behind;

  const Tensor& result() const { return sought == Sought::kY ? y : sought == Sought::kX ? x : w; }
  const Tensor& operand() const { return sought == Sought::kX ? y : x; }
};

Problem problem_of(const Task& task);

/// All of it, as a text.
std::string text_of(const Problem& problem);

}  // namespace meshwork::cuda::windows
