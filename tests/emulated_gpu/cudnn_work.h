#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "emulated_gpu/cudnn_descriptors.h"

namespace emulated_gpu::cudnn {

/// A tensor of a graph, which outlives its description.
struct Tensor {
  std::int64_t id = 0, alignment = 1;
  std::vector<std::int64_t> dims, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_virtual = false;
  bool is_by_value = false;
  std::byte* data = nullptr;  ///< in memory of the device
  float value = 0.0F;         ///< by value

  static Tensor of(const Descriptor& described);
  /// Elements from the first to the last, with those between that are not its own.
  std::int64_t span() const;
  bool operator==(const Tensor&) const = default;
};

/// Goes over all that the text of a plan has, writing it or reading it.
class Words {
 public:
  virtual ~Words() = default;

  template <class Number>
  void number(Number& value) {
    auto wide = static_cast<std::int64_t>(value);
    visit(wide);
    value = static_cast<Number>(wide);
  }
  /// Calls visit(element) for each.
  template <class Element, class Visit>
  void all(std::vector<Element>& elements, const Visit& visit) {
    std::size_t count = elements.size();
    number(count);
    elements.resize(std::min(count, kMost));
    for (Element& element : elements) visit(element);
  }
  template <class Number>
  void numbers(std::vector<Number>& values) {
    all(values, [&](Number& value) { number(value); });
  }
  void tensor(Tensor& tensor);

 private:
  static constexpr std::size_t kMost = 4096;  ///< of damaged texts

  virtual void visit(std::int64_t& value) = 0;
};

/// What the plan of a graph computes, and the engine that does it: of one of the kinds that
/// cudnn_work.cpp lists.
class Work {
 public:
  Engine engine;
  std::byte* workspace = nullptr;

  virtual ~Work() = default;

  /// Nothing of a graph that no kind of work takes.
  static std::unique_ptr<Work> of(const Descriptor& graph, const Engine& engine);
  /// All but places in memory, as a text; nothing of a text that is another.
  std::string text() const;
  static std::unique_ptr<Work> from(const std::string& text);

  virtual std::unique_ptr<Work> copy() const = 0;
  /// Those whose places a variant pack gives.
  virtual std::vector<Tensor*> tensors() = 0;
  /// With the errors that the notes of the engine tell of; scratch is garbage afterwards.
  void compute() const;

 private:
  virtual void visit(Words& words) = 0;
  virtual void compute_results() const = 0;
};

/// Bits of mantissa of what the engine multiplies, or adds up.
unsigned mantissa_of(const Engine& engine);
/// What it adds to all results; of an engine that is not deterministic another number each time.
float noise_of(const Engine& engine);

}  // namespace emulated_gpu::cudnn
