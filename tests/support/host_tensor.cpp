#include "support/host_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"

namespace meshwork {
namespace {

template <class T>
HostTensor filled(DType dtype, const Shape& shape, const std::vector<T>& elements) {
  MW_CHECK(num_elements(shape) == static_cast<std::int64_t>(elements.size()));
  HostTensor tensor = host_tensor(TensorType{dtype, shape});
  std::copy(elements.begin(), elements.end(), tensor.as<T>().begin());
  return tensor;
}

template <class T>
std::vector<double> converted(const HostTensor& tensor) {
  const auto elements = tensor.as<T>();
  return {elements.begin(), elements.end()};
}

bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

}  // namespace

HostTensor host_tensor(const TensorType& type) {
  return {type, std::vector<std::byte>(static_cast<std::size_t>(num_bytes(type)))};
}

HostTensor host_tensor(const Shape& shape, const std::vector<float>& elements) {
  return filled(DType::kFloat32, shape, elements);
}

HostTensor host_tensor(const Shape& shape, const std::vector<std::int32_t>& elements) {
  return filled(DType::kInt32, shape, elements);
}

std::vector<double> to_doubles(const HostTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kFloat32:
      return converted<float>(tensor);
    case DType::kInt32:
      return converted<std::int32_t>(tensor);
    case DType::kInt64:
      return converted<std::int64_t>(tensor);
    case DType::kUInt8:
      return converted<std::uint8_t>(tensor);
    case DType::kBFloat16:
      return converted<BFloat16>(tensor);
    case DType::kFloat16:
      return converted<Float16>(tensor);
    default:
      break;
  }
  MW_CHECK(false, "dtype {}", static_cast<int>(tensor.type.dtype));
  return {};
}

std::string difference(const HostTensor& a, const HostTensor& b, double tolerance) {
  if (!(a.type == b.type)) {
    return fmt::format("{} is not {}", to_string(a.type), to_string(b.type));
  }
  const std::vector<double> left = to_doubles(a);
  const std::vector<double> right = to_doubles(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!near(left[i], right[i], tolerance)) {
      return fmt::format("element {} of {}: {} is not {}", i, to_string(a.type), left[i], right[i]);
    }
  }
  return {};
}

HostTensor cut(const HostTensor& whole, const Shape& offset, const Shape& local) {
  HostTensor part = host_tensor(TensorType{whole.type.dtype, local});
  const std::size_t size = size_of(whole.type.dtype);
  const Shape strides = row_major_strides(whole.type.shape);
  Shape index(local.size(), 0);
  for (std::int64_t i = 0; i < num_elements(local); ++i) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < local.size(); ++d) from += (offset[d] + index[d]) * strides[d];
    std::memcpy(part.bytes.data() + static_cast<std::size_t>(i) * size,
                whole.bytes.data() + static_cast<std::size_t>(from) * size, size);
    for (std::size_t d = local.size(); d-- > 0 && ++index[d] == local[d];) index[d] = 0;
  }
  return part;
}

}  // namespace meshwork
