#include "emulated_gpu/cudnn_convolution.h"

#include <algorithm>

#include "emulated_gpu/cudnn_numbers.h"

namespace emulated_gpu::cudnn {
namespace {

/// Dense numbers of [first, spatial.., second] or, of a filter, [spatial.., second, first].
enum class Order { kImage, kFilter, kTransposedFilter };

/// Calls visit(place in memory, place in the dense order).
template <class Visit>
void for_each(const Tensor& tensor, Order order, const Visit& visit) {
  std::vector<std::size_t> dims;
  for (std::size_t d = 2; d < tensor.dims.size(); ++d) dims.push_back(d);
  if (order == Order::kImage) {
    dims.insert(dims.begin(), 0);
    dims.push_back(1);
  } else if (order == Order::kFilter) {
    dims.insert(dims.end(), {1, 0});
  } else {
    dims.insert(dims.end(), {0, 1});
  }
  const std::int64_t count = elements(tensor.dims);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, place = 0;
    for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
      place += rest % tensor.dims[*d] * tensor.strides[*d];
      rest /= tensor.dims[*d];
    }
    visit(place, i);
  }
}

/// Numbers as the engine takes them.
std::vector<float> load(const Tensor& tensor, Order order, unsigned mantissa) {
  std::vector<float> numbers(static_cast<std::size_t>(elements(tensor.dims)));
  for_each(tensor, order, [&](std::int64_t from, std::int64_t to) {
    const float value = read(tensor.data, tensor.type, from);
    numbers[static_cast<std::size_t>(to)] = rounded(value, mantissa);
  });
  return numbers;
}

/// A pixel of x, one of y and a place of the window, each by number.
struct Tap {
  std::int64_t x, y, k;
};

/// Calls visit(tap) for all that y reads.
template <class Visit>
void for_each_tap(const ConvolutionWork& work, const Visit& visit) {
  const std::size_t rank = work.strides.size();
  std::int64_t y_pixels = 1, places = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    y_pixels *= work.y.dims[d + 2];
    places *= work.w.dims[d + 2];
  }
  for (std::int64_t pixel = 0; pixel < work.y.dims[0] * y_pixels; ++pixel) {
    for (std::int64_t k = 0; k < places; ++k) {
      std::int64_t o = pixel, j = k, x = 0, size = 1;
      bool inside = true;
      for (std::size_t d = rank; d-- > 0;) {
        const std::int64_t extent = work.x.dims[d + 2];
        const std::int64_t i = o % work.y.dims[d + 2] * work.strides[d] - work.padding[d] +
                               j % work.w.dims[d + 2] * work.dilations[d];
        inside = inside && i >= 0 && i < extent;
        x += i * size;
        size *= extent;
        o /= work.y.dims[d + 2];
        j /= work.w.dims[d + 2];
      }
      if (inside) visit(Tap{o * size + x, pixel, k});
    }
  }
}

/// sums[..] += factor * numbers[..].
void add(float* sums, float factor, const float* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * numbers[i];
}

struct Numbers {
  std::vector<float> x, w, y;
};

void add_tap(const ConvolutionWork& work, Numbers& numbers, const Tap& tap) {
  const std::int64_t channels = work.x.dims[1], filters = work.y.dims[1], in = work.w.dims[1];
  const std::int64_t groups = channels / in, out = filters / groups;
  for (std::int64_t g = 0; g < groups; ++g) {
    float* const x = &numbers.x[static_cast<std::size_t>(tap.x * channels + g * in)];
    float* const y = &numbers.y[static_cast<std::size_t>(tap.y * filters + g * out)];
    float* const w = &numbers.w[static_cast<std::size_t>(tap.k * in * filters)];
    if (work.sought == ConvolutionWork::Sought::kX) {
      for (std::int64_t f = 0; f < out; ++f) add(x, y[f], w + (g * out + f) * in, in);
      continue;
    }
    for (std::int64_t c = 0; c < in; ++c) {
      float* const line = w + c * filters + g * out;
      if (work.sought == ConvolutionWork::Sought::kY) {
        add(y, x[c], line, out);
      } else {
        add(line, x[c], y, out);
      }
    }
  }
}

ConvolutionWork::Sought sought_by(cudnnBackendDescriptorType_t operation) {
  switch (operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return ConvolutionWork::Sought::kY;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return ConvolutionWork::Sought::kX;
    default:
      return ConvolutionWork::Sought::kW;
  }
}

}  // namespace

std::unique_ptr<Work> ConvolutionWork::of(const Descriptor& graph) {
  const Convolution c = convolution_of(graph);
  if (c.operation == nullptr) return nullptr;
  auto work = std::make_unique<ConvolutionWork>();
  work->sought = sought_by(c.operation->type);
  work->x = Tensor::of(work->sought == Sought::kX ? *c.result : *c.x);
  work->w = Tensor::of(work->sought == Sought::kW ? *c.result : *c.w);
  work->y = Tensor::of(work->sought == Sought::kY ? *c.result : *c.y);
  work->strides = c.windows->integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  work->dilations = c.windows->integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  work->padding = c.windows->integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  return work;
}

void ConvolutionWork::visit(Words& words) {
  words.number(sought);
  for (Tensor* const tensor : tensors()) words.tensor(*tensor);
  words.numbers(strides);
  words.numbers(dilations);
  words.numbers(padding);
}

void ConvolutionWork::compute_results() const {
  const Order filter = sought == Sought::kX ? Order::kTransposedFilter : Order::kFilter;
  const unsigned mantissa = mantissa_of(engine);
  Numbers numbers{load(x, Order::kImage, mantissa), load(w, filter, mantissa),
                  load(y, Order::kImage, mantissa)};
  std::vector<float>& sums = sought == Sought::kY   ? numbers.y
                             : sought == Sought::kX ? numbers.x
                                                    : numbers.w;
  std::fill(sums.begin(), sums.end(), 0.0F);
  for_each_tap(*this, [&](const Tap& tap) { add_tap(*this, numbers, tap); });
  const float noise = noise_of(engine);
  const Tensor& result = sought == Sought::kY ? y : sought == Sought::kX ? x : w;
  for_each(result, sought == Sought::kW ? filter : Order::kImage,
           [&](std::int64_t to, std::int64_t from) {
             write(result.data, result.type, to, sums[static_cast<std::size_t>(from)] + noise);
           });
}

}  // namespace emulated_gpu::cudnn
