// Plans of the emulated cuDNN: what they are made of, and their texts.
#include <sstream>

#include "emulated_gpu/cudnn_convolution.h"

namespace emulated_gpu::cudnn {
namespace {

/// Other engines make other texts: raised with them.
constexpr std::int64_t kVersion = 1;

Work::Tensor tensor(const Descriptor& described) {
  Work::Tensor tensor;
  tensor.id = described.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.alignment = described.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor.dims = described.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = described.integers(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.type = described.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  return tensor;
}

Work::Sought sought_by(cudnnBackendDescriptorType_t operation) {
  switch (operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return Work::Sought::kY;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return Work::Sought::kX;
    default:
      return Work::Sought::kW;
  }
}

/// Goes over all that a text has, writing it or reading it.
template <class Number, class Numbers, class W>
void visit(W& work, const Number& number, const Numbers& numbers) {
  number(work.sought);
  for (auto* const tensor : {&work.x, &work.w, &work.y}) {
    number(tensor->id);
    number(tensor->alignment);
    number(tensor->type);
    numbers(tensor->dims);
    numbers(tensor->strides);
  }
  numbers(work.strides);
  numbers(work.dilations);
  numbers(work.padding);
  number(work.engine.index);
  number(work.engine.workspace);
  numbers(work.engine.notes);
}

}  // namespace

Work Work::of(const Descriptor& graph, const Engine& engine) {
  const Convolution c = convolution_of(graph);
  Work work;
  work.sought = sought_by(c.operation->type);
  work.x = tensor(work.sought == Sought::kX ? *c.result : *c.x);
  work.w = tensor(work.sought == Sought::kW ? *c.result : *c.w);
  work.y = tensor(work.sought == Sought::kY ? *c.result : *c.y);
  work.strides = c.windows->integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  work.dilations = c.windows->integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  work.padding = c.windows->integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  work.engine = engine;
  return work;
}

std::string Work::text() const {
  std::ostringstream text;
  text << "emulated " << kVersion;
  const auto number = [&](auto value) { text << ' ' << static_cast<std::int64_t>(value); };
  visit(*this, number, [&](const auto& values) {
    number(values.size());
    for (const auto value : values) number(value);
  });
  return text.str();
}

std::optional<Work> Work::from(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  std::int64_t version = 0;
  if (!(words >> name >> version) || name != "emulated" || version != kVersion) return std::nullopt;
  Work work;
  const auto number = [&](auto& value) {
    std::int64_t read = 0;
    words >> read;
    value = static_cast<std::decay_t<decltype(value)>>(read);
  };
  visit(work, number, [&](auto& values) {
    std::size_t count = 0;
    number(count);
    if (count > CUDNN_DIM_MAX) words.setstate(std::ios::failbit);
    if (words) values.resize(count);
    for (auto& value : values) number(value);
  });
  return words ? std::optional(work) : std::nullopt;
}

}  // namespace emulated_gpu::cudnn
