#include "emulated_gpu/cudnn_convolution.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace emulated_gpu::cudnn {
namespace {

float from_bits(std::uint32_t bits) {
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// With so many bits of mantissa behind the first one, ties to even.
float rounded(float value, unsigned bits) {
  if (!std::isfinite(value)) return value;
  const unsigned lost = 23U - bits;
  const std::uint32_t word = bits_of(value);
  const std::uint32_t half = (1U << (lost - 1U)) - 1U + ((word >> lost) & 1U);
  return from_bits((word + half) >> lost << lost);
}

float from_half(std::uint16_t half) {
  const int exponent = half >> 10U & 31;
  const auto mantissa = static_cast<float>(half & 1023U);
  float value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024.0F, exponent - 25);
  if (exponent == 31) value = mantissa == 0.0F ? HUGE_VALF : NAN;
  return (half & 0x8000U) != 0 ? -value : value;
}

std::uint16_t to_half(float value) {
  const auto sign = static_cast<std::uint16_t>(bits_of(value) >> 16U & 0x8000U);
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (size < 0x1p-14F) {
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(size, 24))));
  }
  const std::uint32_t word = bits_of(rounded(size, 10));
  return static_cast<std::uint16_t>(sign | (word - (112U << 23U)) >> 13U);
}

float read(const std::byte* data, cudnnDataType_t type, std::int64_t place) {
  if (type == CUDNN_DATA_FLOAT) return reinterpret_cast<const float*>(data)[place];
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(data)[place];
  return type == CUDNN_DATA_HALF ? from_half(bits) : from_bits(std::uint32_t{bits} << 16U);
}

void write(std::byte* data, cudnnDataType_t type, std::int64_t place, float value) {
  if (type == CUDNN_DATA_FLOAT) {
    reinterpret_cast<float*>(data)[place] = value;
  } else if (type == CUDNN_DATA_HALF) {
    reinterpret_cast<std::uint16_t*>(data)[place] = to_half(value);
  } else {
    const std::uint32_t word = std::isnan(value) ? 0x7FC00000U : bits_of(rounded(value, 7));
    reinterpret_cast<std::uint16_t*>(data)[place] = static_cast<std::uint16_t>(word >> 16U);
  }
}

/// Dense numbers of [first, spatial.., second] or, of a filter, [spatial.., second, first].
enum class Order { kImage, kFilter, kTransposedFilter };

/// Calls visit(place in memory, place in the dense order).
template <class Visit>
void for_each(const Work::Tensor& tensor, Order order, const Visit& visit) {
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
std::vector<float> load(const Work::Tensor& tensor, Order order, unsigned mantissa) {
  std::vector<float> numbers(static_cast<std::size_t>(elements(tensor.dims)));
  for_each(tensor, order, [&](std::int64_t from, std::int64_t to) {
    const float value = read(tensor.data, tensor.type, from);
    numbers[static_cast<std::size_t>(to)] = mantissa < 23 ? rounded(value, mantissa) : value;
  });
  return numbers;
}

bool has(const Engine& engine, cudnnBackendNumericalNote_t note) {
  return std::find(engine.notes.begin(), engine.notes.end(), note) != engine.notes.end();
}

/// Bits of mantissa of what the engine multiplies, or adds up.
unsigned mantissa_of(const Engine& engine) {
  for (const cudnnBackendNumericalNote_t note : engine.notes) {
    if (note != CUDNN_NUMERICAL_NOTE_TENSOR_CORE && note != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP &&
        note != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) {
      return 3;
    }
  }
  return has(engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? 10 : 23;
}

/// A pixel of x, one of y and a place of the window, each by number.
struct Tap {
  std::int64_t x, y, k;
};

/// Calls visit(tap) for all that y reads.
template <class Visit>
void for_each_tap(const Work& work, const Visit& visit) {
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

void add_tap(const Work& work, Numbers& numbers, const Tap& tap) {
  const std::int64_t channels = work.x.dims[1], filters = work.y.dims[1], in = work.w.dims[1];
  const std::int64_t groups = channels / in, out = filters / groups;
  for (std::int64_t g = 0; g < groups; ++g) {
    float* const x = &numbers.x[static_cast<std::size_t>(tap.x * channels + g * in)];
    float* const y = &numbers.y[static_cast<std::size_t>(tap.y * filters + g * out)];
    float* const w = &numbers.w[static_cast<std::size_t>(tap.k * in * filters)];
    if (work.sought == Work::Sought::kX) {
      for (std::int64_t f = 0; f < out; ++f) add(x, y[f], w + (g * out + f) * in, in);
      continue;
    }
    for (std::int64_t c = 0; c < in; ++c) {
      float* const line = w + c * filters + g * out;
      if (work.sought == Work::Sought::kY) {
        add(y, x[c], line, out);
      } else {
        add(line, x[c], y, out);
      }
    }
  }
}

}  // namespace

void Work::compute() const {
  static std::atomic<std::uint32_t> turn{0};
  if (engine.workspace > 0) {
    std::memset(workspace, 0xCD, static_cast<std::size_t>(engine.workspace));
  }
  const Order filter = sought == Sought::kX ? Order::kTransposedFilter : Order::kFilter;
  const unsigned mantissa = mantissa_of(engine);
  Numbers numbers{load(x, Order::kImage, mantissa), load(w, filter, mantissa),
                  load(y, Order::kImage, mantissa)};
  std::vector<float>& sums = sought == Sought::kY   ? numbers.y
                             : sought == Sought::kX ? numbers.x
                                                    : numbers.w;
  std::fill(sums.begin(), sums.end(), 0.0F);
  for_each_tap(*this, [&](const Tap& tap) { add_tap(*this, numbers, tap); });
  const float noise = has(engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
                          ? 0.125F * static_cast<float>(turn++ % 8)
                          : 0.0F;
  const Tensor& result = sought == Sought::kY ? y : sought == Sought::kX ? x : w;
  for_each(result, sought == Sought::kW ? filter : Order::kImage,
           [&](std::int64_t to, std::int64_t from) {
             write(result.data, result.type, to, sums[static_cast<std::size_t>(from)] + noise);
           });
}

}  // namespace emulated_gpu::cudnn
