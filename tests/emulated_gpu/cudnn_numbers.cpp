#include "emulated_gpu/cudnn_numbers.h"

#include <cmath>

#include "emulated_gpu/narrow_floats.h"

namespace emulated_gpu::cudnn {

float rounded(float value, unsigned kept) {
  if (!std::isfinite(value) || kept >= 23U) return value;
  const unsigned lost = 23U - kept;
  const auto word = bits<std::uint32_t>(value);
  const std::uint32_t half = (1U << (lost - 1U)) - 1U + ((word >> lost) & 1U);
  return bits<float>((word + half) >> lost << lost);
}

float rounded(float value, cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return from_float16(to_float16(value));
    case CUDNN_DATA_BFLOAT16:
      return from_bfloat16(to_bfloat16(value));
    case CUDNN_DATA_INT32:
      return std::trunc(value);
    case CUDNN_DATA_BOOLEAN:
      return value != 0.0F ? 1.0F : 0.0F;
    default:
      return value;
  }
}

float read(const std::byte* data, cudnnDataType_t type, std::int64_t place) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return from_float16(reinterpret_cast<const std::uint16_t*>(data)[place]);
    case CUDNN_DATA_BFLOAT16:
      return from_bfloat16(reinterpret_cast<const std::uint16_t*>(data)[place]);
    case CUDNN_DATA_INT32:
      return static_cast<float>(reinterpret_cast<const std::int32_t*>(data)[place]);
    case CUDNN_DATA_BOOLEAN:
      return data[place] != std::byte{0} ? 1.0F : 0.0F;
    default:
      return reinterpret_cast<const float*>(data)[place];
  }
}

void write(std::byte* data, cudnnDataType_t type, std::int64_t place, float value) {
  switch (type) {
    case CUDNN_DATA_HALF:
      reinterpret_cast<std::uint16_t*>(data)[place] = to_float16(value);
      break;
    case CUDNN_DATA_BFLOAT16:
      reinterpret_cast<std::uint16_t*>(data)[place] = to_bfloat16(value);
      break;
    case CUDNN_DATA_INT32:
      reinterpret_cast<std::int32_t*>(data)[place] = static_cast<std::int32_t>(value);
      break;
    case CUDNN_DATA_BOOLEAN:
      data[place] = std::byte{value != 0.0F};
      break;
    default:
      reinterpret_cast<float*>(data)[place] = value;
  }
}

}  // namespace emulated_gpu::cudnn
