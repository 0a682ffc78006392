// Blurs an image by a Gaussian kernel, with the probability factor; beyond the edge there is 0. One
// sigma is the deviation, and of a list one is drawn for each image, as Keras says; Keras 3.15
// draws from 0 to a single one, and two for a batch: across and down.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

constexpr std::int64_t kMostKernel = 255;

struct Kernel {
  std::array<float, kMostKernel> weights;
  std::int64_t half = 0;  ///< 2 * half + 1 weights

  /// Of neighbours -half..half.
  float of(std::int64_t neighbour) const {
    return weights[static_cast<std::size_t>(half + neighbour)];
  }
};

Kernel gaussian(std::int64_t size, double sigma) {
  Kernel kernel;
  kernel.half = size / 2;
  const auto begin = kernel.weights.begin(), end = begin + size;
  for (std::int64_t i = 0; i < size; ++i) {
    const double at = static_cast<double>(i - kernel.half) / sigma;
    begin[i] = static_cast<float>(std::exp(-0.5 * at * at));
  }
  const float sum = std::accumulate(begin, end, 0.F);
  std::transform(begin, end, begin, [&](float weight) { return weight / sum; });
  return kernel;
}

void blur_down(const Kernel& kernel, const ImageShape& shape, const float* from, float* to) {
  const std::int64_t pitch = shape.width * shape.channels;
  std::fill_n(to, shape.elements(), 0.F);
  for (std::int64_t i = 0; i < shape.height; ++i, to += pitch) {
    const std::int64_t first = std::max(i - kernel.half, std::int64_t{0});
    const std::int64_t last = std::min(i + kernel.half, shape.height - 1);
    for (std::int64_t k = first; k <= last; ++k) {
      const float weight = kernel.of(k - i);
      std::transform(to, to + pitch, from + k * pitch, to,
                     [&](float sum, float x) { return sum + weight * x; });
    }
  }
}

/// One channel of one row, in place.
void blur_across(const Kernel& kernel, const ImageShape& shape, float* row) {
  std::array<float, kMostKernel> before;  // pixels that are overwritten, by their place
  const std::int64_t size = 2 * kernel.half + 1;
  for (std::int64_t j = 0; j < shape.width; ++j) {
    before[static_cast<std::size_t>(j % size)] = row[j * shape.channels];
    float sum = 0;
    const std::int64_t last = std::min(j + kernel.half, shape.width - 1);
    for (std::int64_t k = std::max(j - kernel.half, std::int64_t{0}); k <= last; ++k) {
      sum += kernel.of(k - j) *
             (k <= j ? before[static_cast<std::size_t>(k % size)] : row[k * shape.channels]);
    }
    row[j * shape.channels] = sum;
  }
}

struct KernelSize {
  std::int64_t across = 3, down = 3;
};

/// One number, or a list of two.
KernelSize read_kernel_size(config::Reader& args) {
  const config::Value* const given = args.find("kernel_size");
  if (given == nullptr) return {};
  const auto number = [&](const config::Value& value) {
    const std::int64_t size = value.as_integer("kernel_size");
    if (size >= 1 && size <= kMostKernel && size % 2 == 1) return size;
    config::fail_at(value.at, "{}: kernel_size must be an odd number from 1 to {}, not {}",
                    args.what(), kMostKernel, size);
  };
  if (!given->is_list()) return {number(*given), number(*given)};
  if (given->list.size() != 2) {
    config::fail_at(given->at, "{}: kernel_size must be a number, or a list of two: across, down",
                    args.what());
  }
  return {number(given->list[0]), number(given->list[1])};
}

Range read_sigma(config::Reader& args) {
  const config::Value* const given = args.find("sigma");
  if (given == nullptr) return {1, 1};
  const auto number = [&](const config::Value& value) {
    const double sigma = value.as_real("sigma");
    if (sigma >= 0 && std::isfinite(sigma)) return sigma;
    config::fail_at(value.at, "{}: sigma must be a number of pixels from 0 on, not {}", args.what(),
                    sigma);
  };
  if (!given->is_list()) return {number(*given), number(*given)};
  if (given->list.size() != 2) {
    config::fail_at(given->at, "{}: sigma must be a number, or a list of a lower and an upper one",
                    args.what());
  }
  const double first = number(given->list[0]), second = number(given->list[1]);
  return {std::min(first, second), std::max(first, second)};
}

ImageFunction parse(config::Reader& args) {
  const double probability = read_probability(args);
  const KernelSize size = read_kernel_size(args);
  const Range sigma = read_sigma(args);
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    if (draws[0] < probability) {
      constexpr double kEpsilon = 1e-6;  // Keras's: no sigma is 0
      const double deviation = sigma.at(draws[1]) + kEpsilon;
      blur_down(gaussian(size.down, deviation), shape, from, to);
      const Kernel kernel = gaussian(size.across, deviation);
      const std::int64_t pitch = shape.width * shape.channels;
      for (std::int64_t i = 0; i < shape.elements(); i += pitch) {
        for (std::int64_t c = 0; c < shape.channels; ++c) blur_across(kernel, shape, to + i + c);
      }
      from = to;
    }
    std::transform(from, from + shape.elements(), to,
                   [&](float x) { return std::clamp(x, values.least, values.most); });
  };
}

}  // namespace

const ImageOpDef kRandomGaussianBlur{.names = {"RandomGaussianBlur", "random_gaussian_blur"},
                                     .parse = parse};

}  // namespace meshwork::data
