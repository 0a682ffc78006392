// Elementwise kernels of GPUs against those of CPUs: the same bits, unless the formula calls a
// function or rounds a product and a sum at once.
#include <doctest/doctest.h>

#include "cuda/case_runs.h"
#include "cuda/fusion_run.h"
#include "support/elementwise_entries.h"

using namespace meshwork;
using namespace meshwork::testing;
using elementwise::Types;

namespace {

/// Both are this near to each other then: 4 units in the last place.
constexpr double kNear = 0x1p-21;
constexpr double kNearRounded = 0x1p-7;

Backend& cpu_backend() {
  static const auto backend = make_cpu_backend(1);
  return *backend;
}

DType result_dtype(const ElementwiseEntry& entry, DType dtype) {
  const bool is_truth = entry.types == Types::kTruth && dtype != DType::kBFloat16;
  return is_truth ? DType::kFloat32 : dtype;
}

std::vector<DType> dtypes_of(const ElementwiseEntry& entry) {
  std::vector<DType> dtypes{DType::kFloat32, DType::kBFloat16};
  if (entry.types != Types::kReal) dtypes.insert(dtypes.end(), {DType::kInt32, DType::kInt64});
  if (entry.types == Types::kChoice) dtypes.push_back(DType::kUInt8);
  return dtypes;
}

/// Operands of these shapes, the last of them again and again.
void check_entry(const ElementwiseEntry& entry, DType dtype, const std::vector<Shape>& shapes,
                 const Shape& result) {
  CAPTURE(entry.op->name);
  CAPTURE(to_string(dtype));
  CAPTURE(to_string(result));
  std::vector<Part> inputs;
  for (std::size_t i = 0; i < entry.operands; ++i) {
    const bool is_condition = entry.types == Types::kChoice && i == 0;
    const TensorType type{is_condition ? DType::kFloat32 : dtype,
                          shapes[std::min(i, shapes.size() - 1)]};
    inputs.push_back(whole_part(wild_tensor(type, 10 + i)));
  }
  const TensorType type{result_dtype(entry, dtype), result};
  const auto run = [&](Backend& backend) {
    return call_kernel(backend, *entry.op, inputs, {}, type, whole_region(result));
  };
  if (rounds_otherwise(entry.op->name)) {
    const double tolerance = dtype == DType::kBFloat16 ? kNearRounded : kNear;
    CHECK(difference(run(gpu_backend()), run(cpu_backend()), tolerance) == "");
  } else {
    CHECK(bit_difference(run(gpu_backend()), run(cpu_backend())) == "");
  }
}

struct Broadcast {
  std::vector<Shape> operands;
  Shape result;
};

/// Rows that are whole vectors and rows that are not, merged, in the middle, on both sides, empty,
/// of several blocks.
const std::vector<Broadcast> kBroadcasts{
    {{{}, {}}, {}},
    {{{7}, {}}, {7}},
    {{{}, {9}}, {9}},
    {{{5, 13}, {13}}, {5, 13}},
    {{{5, 16}, {16}}, {5, 16}},
    {{{5, 1}, {5, 13}}, {5, 13}},
    {{{5, 1}, {5, 16}}, {5, 16}},
    {{{1, 13}, {5, 1}}, {5, 13}},
    {{{1, 16}, {5, 1}}, {5, 16}},
    {{{3, 4, 5}, {3, 1, 5}}, {3, 4, 5}},
    {{{3, 1, 8}, {4, 1}}, {3, 4, 8}},
    {{{2, 3, 4, 8}, {1, 3, 1, 8}}, {2, 3, 4, 8}},
    {{{2, 1, 4, 1}, {3, 1, 5}}, {2, 3, 4, 5}},
    {{{2, 1, 2, 1, 2, 1}, {3, 1, 3, 1, 8}}, {2, 3, 2, 3, 2, 8}},
    {{{1, 1}, {1}}, {1, 1}},
    {{{0, 3}, {3}}, {0, 3}},
    {{{4, 0}, {4, 1}}, {4, 0}},
    {{{300, 301}, {301}}, {300, 301}},
    {{{300, 1}, {300, 304}}, {300, 304}},
};

}  // namespace

TEST_CASE("elementwise kernels give the bits of the CPU") {
  for (const ElementwiseEntry& entry : elementwise_entries()) {
    if (!is_asked_for(entry.op->name)) continue;
    for (const DType dtype : dtypes_of(entry)) {
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{10, 3, 171}}) {
        check_entry(entry, dtype, {shape}, shape);
      }
    }
  }
}

TEST_CASE("elementwise kernels broadcast as the CPU does") {
  for (const ElementwiseEntry& entry : elementwise_entries()) {
    const bool stands_for_others = entry.op == &elementwise::kSubtract ||
                                   entry.op == &elementwise::kGreater ||
                                   entry.op == &elementwise::kSelect;
    if (!stands_for_others || !is_asked_for(entry.op->name)) continue;
    for (const Broadcast& each : kBroadcasts) {
      for (const DType dtype : dtypes_of(entry)) {
        check_entry(entry, dtype, each.operands, each.result);
      }
    }
  }
}

TEST_CASE("elementwise kernels of many elements give the bits of the CPU") {
  for (const ElementwiseEntry& entry : elementwise_entries()) {
    if (entry.op != &elementwise::kMultiply) continue;
    check_entry(entry, DType::kFloat32, {{1'000'003}}, {1'000'003});
    check_entry(entry, DType::kBFloat16, {{700, 1001}, {1001}}, {700, 1001});
  }
}
