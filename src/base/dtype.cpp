#include "base/dtype.h"

#include <array>

#include "base/check.h"
#include "base/error.h"

namespace meshwork {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeInfo, 5> kDTypes{{
    {DType::kFloat32, "float32", 4},
    {DType::kInt32, "int32", 4},
    {DType::kInt64, "int64", 8},
    {DType::kUInt8, "uint8", 1},
    {DType::kBFloat16, "bfloat16", 2},
}};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  MW_CHECK(index < kDTypes.size() && kDTypes[index].dtype == dtype);
  return kDTypes[index];
}

}  // namespace

std::string_view to_string(DType dtype) { return info(dtype).name; }

std::size_t size_of(DType dtype) { return info(dtype).size; }

DType sum_dtype(DType dtype) { return dtype == DType::kBFloat16 ? DType::kFloat32 : dtype; }

bool is_floating(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; }

DType dtype_from_string(std::string_view name) {
  for (const DTypeInfo& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  fail("unknown dtype '{}'; known: float32, int32, int64, uint8, bfloat16", name);
}

}  // namespace meshwork
