#include "base/dtype.h"

#include <array>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/join.h"

namespace meshwork {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
};

constexpr std::array<DTypeInfo, 12> kDTypes{{
    {DType::kFloat32, "float32"},
    {DType::kInt32, "int32"},
    {DType::kInt64, "int64"},
    {DType::kUInt8, "uint8"},
    {DType::kBFloat16, "bfloat16"},
    {DType::kInt8, "int8"},
    {DType::kUInt16, "uint16"},
    {DType::kInt16, "int16"},
    {DType::kUInt32, "uint32"},
    {DType::kUInt64, "uint64"},
    {DType::kFloat16, "float16"},
    {DType::kFloat64, "float64"},
}};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  MW_CHECK(index < kDTypes.size() && kDTypes[index].dtype == dtype);
  return kDTypes[index];
}

}  // namespace

std::string_view to_string(DType dtype) { return info(dtype).name; }

bool is_narrow_float(DType dtype) { return dtype == DType::kBFloat16 || dtype == DType::kFloat16; }

DType sum_dtype(DType dtype) { return is_narrow_float(dtype) ? DType::kFloat32 : dtype; }

bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || is_narrow_float(dtype);
}

DType dtype_from_string(std::string_view name) {
  for (const DTypeInfo& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  std::vector<std::string_view> known;
  for (const DTypeInfo& entry : kDTypes) known.push_back(entry.name);
  fail("unknown dtype '{}'; known: {}", name, join(known, ", "));
}

}  // namespace meshwork
