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

constexpr std::array<DTypeInfo, 4> kDTypes{{
    {DType::kFloat32, "float32", 4},
    {DType::kInt32, "int32", 4},
    {DType::kInt64, "int64", 8},
    {DType::kUInt8, "uint8", 1},
}};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  MW_CHECK(index < kDTypes.size() && kDTypes[index].dtype == dtype);
  return kDTypes[index];
}

}  // namespace

std::string_view to_string(DType dtype) { return info(dtype).name; }

std::size_t size_of(DType dtype) { return info(dtype).size; }

DType dtype_from_string(std::string_view name) {
  for (const DTypeInfo& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  fail("unknown dtype '{}'; known: float32, int32, int64, uint8", name);
}

}  // namespace meshwork
