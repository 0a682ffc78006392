#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace meshwork::testing {

/// A tensor of a test: values as double whatever the dtype, which holds all that the tests use.
struct Tensor {
  TensorType type;
  Region region = {};  ///< empty: the whole tensor
  std::vector<double> values;
};

Tensor tensor(DType dtype, Shape shape, std::vector<double> values);
/// Multiples of 1/8 in [-4, 4), or whole numbers, that follow from `seed`.
Tensor some_tensor(DType dtype, Shape shape, std::uint64_t seed);
/// Values are rounded to float32.
Tensor floats(Shape shape, std::vector<double> values);
Tensor some_floats(Shape shape, std::uint64_t seed);
/// Normally distributed float32, whose products and sums are rounded.
Tensor normals(Shape shape, std::uint64_t seed);

struct RunOptions {
  int in_place = -1;   ///< the operand whose memory the result takes
  Region region = {};  ///< of the result; empty: the whole tensor
};

/// What the kernel of `op` in the backend gives. Result and workspace are filled with garbage
/// before; behind them, and behind the operands, lie guards that CHECK finds untouched.
Tensor run(Backend& backend, std::string_view op, const std::vector<Tensor>& inputs,
           TensorType output, const Attrs& attrs = {}, const RunOptions& options = {});

/// The greatest difference in units in the last place of float32; NaN equals NaN only.
double ulps(const Tensor& a, const Tensor& b);

/// Whether types and all values are the same; NaN equals NaN, 0 is not -0.
bool same(const Tensor& a, const Tensor& b);

/// CHECKs that the fast kernel gives the same bits with one and with two threads, in place of each
/// operand in `in_place` too, and differs from the naive one by at most `max_ulps`.
void check_fast(std::string_view op, const std::vector<Tensor>& inputs, const TensorType& output,
                const Attrs& attrs = {}, double max_ulps = 0,
                const std::vector<int>& in_place = {});

/// CHECKs that the fast kernel gives the same bits with 1, 2, 3, 4 and 9 threads.
void check_threads(std::string_view op, const std::vector<Tensor>& inputs, const TensorType& output,
                   const Attrs& attrs = {});

/// "float32[2, 3] {1, 2, ..}"
std::string to_text(const Tensor& a);

}  // namespace meshwork::testing
