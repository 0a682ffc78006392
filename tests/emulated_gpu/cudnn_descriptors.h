#pragma once

#include <cudnn_graph.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace emulated_gpu::cudnn {

/// What was set under a name.
struct Value {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
};

/// An algorithm that the heuristics give.
struct Engine {
  std::int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::int64_t workspace = 0;  ///< bytes
  bool refuses = false;        ///< when a plan is made, after all
  bool is_compiled = false;    ///< for its plan
  bool is_real = false;        ///< one of the real cuDNN (real_cudnn.h)
};

class Work;

/// Any description; what is set is kept by name.
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<int, Value> values = {};
  Engine engine = {};                       ///< of an engine, its configuration and its plan
  std::shared_ptr<const Work> work = {};    ///< of a plan, without pointers
  cudnnBackendDescriptor_t twin = nullptr;  ///< of the real cuDNN, if that is there

  bool has(int name) const { return values.contains(name); }
  std::int64_t count(int name) const { return has(name) ? values.at(name).count : 0; }
  template <class T>
  std::vector<T> all(int name) const {
    if (!has(name)) return {};
    const Value& value = values.at(name);
    std::vector<T> result(static_cast<std::size_t>(value.count));
    std::memcpy(result.data(), value.bytes.data(), value.bytes.size());
    return result;
  }
  /// The first; zero where nothing was set.
  template <class T>
  T one(int name) const {
    T value{};
    if (has(name)) std::memcpy(&value, values.at(name).bytes.data(), sizeof value);
    return value;
  }
  std::vector<std::int64_t> integers(int name) const { return all<std::int64_t>(name); }
  const Descriptor* other(int name) const { return one<const Descriptor*>(name); }
};

inline Descriptor* of(cudnnBackendDescriptor_t handle) { return static_cast<Descriptor*>(handle); }

/// Bytes of an element of an attribute; 0 of a type that is not known here.
std::size_t bytes_of(cudnnBackendAttributeType_t type);

/// Whether descriptions of the type have this attribute, of this type, so many times.
cudnnStatus_t check_attribute(const Descriptor& descriptor, int name,
                              cudnnBackendAttributeType_t type, std::int64_t count);

/// Whether all that was set fits together, as cuDNN 9.19 checks it.
cudnnStatus_t check_whole(const Descriptor& descriptor);

std::size_t size_of(cudnnDataType_t type);
std::int64_t elements(const std::vector<std::int64_t>& dims);

/// The operations of a graph: a convolution, or a gradient of one, and perhaps a copy of its result
/// in another type.
struct Convolution {
  const Descriptor* operation = nullptr;
  const Descriptor *x = nullptr, *w = nullptr, *y = nullptr, *windows = nullptr;
  const Descriptor* result = nullptr;  ///< in memory
};
/// Without an operation where the graph is another.
Convolution convolution_of(const Descriptor& graph);

}  // namespace emulated_gpu::cudnn
