#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "emulated_gpu/cudnn_descriptors.h"

namespace emulated_gpu::cudnn {

/// A convolution and the engine that computes it, which outlive their descriptions.
struct Work {
  struct Tensor {
    std::int64_t id = 0, alignment = 1;
    std::vector<std::int64_t> dims, strides;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::byte* data = nullptr;
  };
  enum class Sought { kY, kX, kW };

  Sought sought = Sought::kY;
  Tensor x, w, y;  ///< what is sought as it is in memory
  std::vector<std::int64_t> strides, dilations, padding;
  Engine engine;
  std::byte* workspace = nullptr;

  /// Of a plan for the graph.
  static Work of(const Descriptor& graph, const Engine& engine);
  /// All but places in memory, as a text; nothing of a text that is another.
  std::string text() const;
  static std::optional<Work> from(const std::string& text);

  /// In float32, with the errors that the notes of the engine tell of; scratch is garbage
  /// afterwards.
  void compute() const;
};

}  // namespace emulated_gpu::cudnn
