#include "cuda/values.h"

#include <random>

#include "backend/convert.h"
#include "backend/types.h"
#include "base/bfloat16.h"
#include "base/check.h"
#include "base/rng.h"

namespace meshwork::testing {
namespace {

std::mt19937& random_engine() {
  static std::mt19937 engine(7);  // NOLINT: the same numbers each time
  return engine;
}

}  // namespace

HostTensor random_bytes(const TensorType& type) {
  HostTensor tensor = host_tensor(type);
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random_engine()());
  return tensor;
}

HostTensor random_integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  HostTensor tensor = host_tensor(TensorType{DType::kInt32, shape});
  std::uniform_int_distribution<std::int64_t> draw(low, high);
  for (std::int32_t& x : tensor.as<std::int32_t>()) {
    x = static_cast<std::int32_t>(draw(random_engine()));
  }
  return tensor;
}

HostTensor random_fractions(const TensorType& type) {
  HostTensor tensor = host_tensor(type);
  std::uniform_int_distribution<int> draw(-512, 512);
  const auto next = [&] { return static_cast<float>(draw(random_engine())) / 64; };
  if (type.dtype == DType::kBFloat16) {
    for (BFloat16& x : tensor.as<BFloat16>()) x = BFloat16(next());
  } else {
    MW_CHECK(type.dtype == DType::kFloat32);
    for (float& x : tensor.as<float>()) x = next();
  }
  return tensor;
}

HostTensor filled(const TensorType& type, const std::function<double(std::int64_t)>& value) {
  HostTensor tensor = host_tensor(type);
  with_type(type.dtype, [&](auto number) {
    using T = decltype(number);
    for (std::int64_t i = 0; i < num_elements(type.shape); ++i) {
      tensor.as<T>()[static_cast<std::size_t>(i)] = convert<T>(value(i));
    }
  });
  return tensor;
}

HostTensor noise(const TensorType& type, std::uint64_t seed, double scale) {
  return filled(type, [&](std::int64_t i) {
    return scale * (2.0 * uniform_at(seed, 0, static_cast<std::uint64_t>(i)) - 1);
  });
}

}  // namespace meshwork::testing
