#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/cudnn/library.h"

namespace meshwork::cuda::cudnn {

/// A description that cuDNN keeps, given back in the end. What cuDNN does not take throws an Error.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Descriptor();

  cudnnBackendDescriptor_t get() const { return handle_; }

  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value value) {
    set_all(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, std::int64_t value) {
    set_all(name, CUDNN_TYPE_INT64, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    set_all(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other);
  }
  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               std::int64_t count, const void* values);
  void finalize();

  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  /// How many there are.
  std::int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  /// Writes at most `count` of them to `values`; how many.
  std::int64_t get_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       std::int64_t count, void* values) const;

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace meshwork::cuda::cudnn
