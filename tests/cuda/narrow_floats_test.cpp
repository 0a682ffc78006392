// Kernels of GPUs on floats of 16 bits: what the naive ones give of the same numbers in float32,
// rounded.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/float16.h"
#include "cuda/attention_use.h"
#include "cuda/case_runs.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"
#include "support/shared_case.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Half a unit in the last of 11 digits, or of 8.
double rounding_of(DType dtype) {
  if (dtype == DType::kFloat16) return 1.0 / 2048;
  return dtype == DType::kBFloat16 ? 1.0 / 256 : 0;
}

HostTensor run(Backend& backend, const OpCase& op_case, const std::vector<HostTensor>& inputs,
               const TensorType& output) {
  std::vector<Part> parts;
  for (const HostTensor& input : inputs) parts.push_back(whole_part(input));
  return call_kernel(backend, *op_case.op, parts, op_case.attrs, output,
                     whole_region(output.shape));
}

/// Whether it is of attention, whose sums of weights in float16 are as exact as attention_use.h
/// says.
bool rounds_weights(const OpCase& op_case, const TensorType& output) {
  return op_case.op->name.starts_with("attention") && output.dtype == DType::kFloat16;
}

/// CHECKs the GPU's kernel on a case of bfloat16, of `narrow` instead.
void check_whole(const OpCase& op_case, DType narrow) {
  static const auto naive = make_reference_backend();
  INFO(op_case.name, ", but ", to_string(narrow));
  const OpCase wide = in_float32(op_case);
  std::vector<HostTensor> inputs, wide_inputs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    inputs.push_back(draw(wide, i));
    wide_inputs.push_back(inputs.back());
    if (op_case.inputs[i].type.dtype != DType::kBFloat16) continue;
    inputs.back() = in_dtype(inputs.back(), narrow);
    wide_inputs.back() = in_dtype(inputs.back(), DType::kFloat32);
  }
  TensorType output = op_case.output;
  if (output.dtype == DType::kBFloat16) output.dtype = narrow;
  const HostTensor expected = in_dtype(run(*naive, wide, wide_inputs, wide.output), output.dtype);
  const double tolerance =
      2 * op_case.tolerance +
      (rounds_weights(op_case, output) ? kRoundedToFloat16 : 2 * rounding_of(output.dtype));
  CHECK(difference(run(gpu_backend(), op_case, inputs, output), expected, tolerance) == "");
}

HostTensor cast_on_gpu(const HostTensor& x, DType dtype) {
  const Attrs attrs{{"dtype", std::string(to_string(dtype))}};
  return call_placed(ops::kCast, {x}, attrs, {dtype, x.type.shape});
}

}  // namespace

TEST_CASE("kernels of float16") {
  for (const OpCase& op_case : bfloat16_cases()) {
    const bool is_known = gpu_backend().find(op_case.op->name) != nullptr;
    if (is_known && is_asked_for(op_case.op->name)) check_whole(op_case, DType::kFloat16);
  }
}

namespace {

/// CHECKs an op of tensors of float16 with random numbers.
void check_large(const OpDef& op, const std::vector<Shape>& shapes, const Attrs& attrs,
                 const Shape& output) {
  CAPTURE(op.name);
  std::vector<HostTensor> inputs, wide;
  for (const Shape& shape : shapes) {
    const HostTensor numbers = noise({DType::kFloat32, shape}, 3 + inputs.size());
    inputs.push_back(in_dtype(numbers, DType::kFloat16));
    wide.push_back(in_dtype(inputs.back(), DType::kFloat32));
  }
  const HostTensor expected = call_naive(op, wide, attrs, {DType::kFloat32, output});
  for (const std::int64_t shift : {0, 1}) {
    const HostTensor y =
        call_placed(op, inputs, attrs, {DType::kFloat16, output}, {.shift = shift});
    CHECK(difference(y, in_dtype(expected, DType::kFloat16), 2 * rounding_of(DType::kFloat16)) ==
          "");
  }
}

Attrs equation(const std::string& text) { return {{"equation", text}}; }

}  // namespace

TEST_CASE("large tensors of float16") {
  const std::vector<std::int64_t> last{1};
  check_large(ops::kReduceSum, {{3, 24576}}, {{"axes", last}, {"keepdims", false}}, {3});
  check_large(ops::kSoftmax, {{2, 8200}}, {{"axis", std::int64_t{1}}}, {2, 8200});
  check_large(ops::kEinsum, {{2, 5000}, {20, 5000}}, equation("m k, n k -> m n"), {2, 20});
  check_large(ops::kEinsum, {{2, 500}, {500, 24}}, equation("m k, k n -> m n"), {2, 24});
  check_large(ops::kEinsum, {{4, 60, 50}, {4, 50, 70}}, equation("b m k, b k n -> b m n"),
              {4, 60, 70});
}

// With EMULATED_GPU_CAPABILITY=7.5.
TEST_CASE("kernels of a GPU that multiplies no bfloat16" * doctest::skip()) {
  for (const OpCase& op_case : bfloat16_cases()) {
    const bool is_attention = op_case.op->name.starts_with("attention");
    if (is_attention) check_whole(op_case, DType::kBFloat16);
    if (is_attention || op_case.op == &ops::kEinsum) check_whole(op_case, DType::kFloat16);
  }
  const TensorType type{DType::kBFloat16, {33, 33}};
  CHECK_THROWS_WITH(call_placed(ops::kEinsum, {host_tensor(type), host_tensor(type)},
                                equation("a b, b c -> a c"), type),
                    doctest::Contains("bfloat16 from compute capability 8.0 on: say precision: "
                                      "mixed_float16"));
}

TEST_CASE("casts from and to float16, of all of its numbers and between them") {
  HostTensor all = host_tensor(TensorType{DType::kFloat16, {1 << 16}});
  for (std::size_t i = 0; i < 1 << 16; ++i) {
    all.as<Float16>()[i].bits = static_cast<std::uint16_t>(i);
  }
  const HostTensor wide = cast_on_gpu(all, DType::kFloat32);
  CHECK(difference(wide, in_dtype(all, DType::kFloat32), 0) == "");
  CHECK(difference(cast_on_gpu(wide, DType::kFloat16), all, 0) == "");
  // Half way to the next number, and next to that.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> between;
  for (std::size_t i = 0; i < 0x7C00; ++i) {
    const float low = wide.as<float>()[i];
    const float middle = i == 0x7BFF ? 65520.0F : (low + wide.as<float>()[i + 1]) / 2;
    for (const float x : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, kInfinity)})
      between.insert(between.end(), {x, -x});
  }
  between.insert(between.end(), {1e30F, -1e30F, 1e-30F, std::nanf("")});
  const HostTensor x = host_tensor({std::ssize(between)}, between);
  CHECK(difference(cast_on_gpu(x, DType::kFloat16), in_dtype(x, DType::kFloat16), 0) == "");
  CHECK(difference(cast_on_gpu(all, DType::kBFloat16), in_dtype(all, DType::kBFloat16), 0) == "");
  CHECK(difference(cast_on_gpu(all, DType::kInt32),
                   cast_on_gpu(in_dtype(all, DType::kFloat32), DType::kInt32), 0) == "");
}
