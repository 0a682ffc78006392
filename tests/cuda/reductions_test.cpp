// Sums and maxima on GPUs beyond the cases of ops: many sizes, places that are not aligned, numbers
// that are none, and how many digits large sums keep.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "cuda/case_runs.h"
#include "cuda/fusion_run.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

using Axes = std::vector<std::int64_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Reduced {
  Shape shape;
  Axes axes;
};

Attrs attrs_of(const Reduced& reduced) { return {{"axes", reduced.axes}, {"keepdims", false}}; }

TensorType result_of(const Reduced& reduced, DType dtype) {
  TensorType result{dtype, {}};
  for (std::size_t d = 0; d < reduced.shape.size(); ++d) {
    const auto& axes = reduced.axes;
    const auto axis = static_cast<std::int64_t>(d);
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      result.shape.push_back(reduced.shape[d]);
    }
  }
  return result;
}

/// Of bfloat16 a sum is rounded once, of float32 it is as exact as sums of few are.
double tolerance_of(DType dtype) { return dtype == DType::kBFloat16 ? 1.0 / 256 : 3e-6; }

const std::vector<Reduced>& many_reductions() {
  static const std::vector<Reduced> list{
      {{1}, {0}},
      {{70000}, {0}},
      {{5, 9001}, {1}},
      {{3, 24576}, {1}},
      {{700, 20}, {1}},
      {{300, 33}, {1}},
      {{20000, 3}, {0}},
      {{9000, 8}, {0}},
      {{1000, 260}, {0}},
      {{300, 513}, {0}},
      {{2, 2000, 12}, {1}},
      {{1000, 4, 8}, {1}},
      {{40, 6, 10, 7}, {1, 3}},
      {{40, 6, 10, 8}, {0, 2}},
      {{7, 12, 16}, {0, 2}},
      {{9, 5, 600}, {0, 2}},
      {{3, 2, 5, 4, 3, 8}, {0, 2, 4}},
      {{3, 2, 5, 4, 3, 8}, {1, 3, 5}},
      {{6, 50}, {}},
  };
  return list;
}

}  // namespace

TEST_CASE("sums and maxima over any axes, of few and of many elements") {
  for (const Reduced& reduced : many_reductions()) {
    CAPTURE(to_string(reduced.shape));
    CAPTURE(to_string(reduced.axes));
    const Attrs attrs = attrs_of(reduced);
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt32, DType::kInt64}) {
      const bool whole = dtype == DType::kInt32 || dtype == DType::kInt64;
      const HostTensor x = noise({dtype, reduced.shape}, 7, whole ? 1e9 : 1);
      const TensorType result = result_of(reduced, dtype);
      if (is_asked_for("reduce_sum"))
        check_close(ops::kReduceSum, {x}, attrs, result, tolerance_of(dtype));
      if (is_asked_for("reduce_max")) check_close(ops::kReduceMax, {x}, attrs, result, 0);
    }
  }
}

TEST_CASE("sums of bfloat16 in float32 keep what rounding would lose") {
  for (const Reduced& reduced : many_reductions()) {
    CAPTURE(to_string(reduced.shape));
    Attrs attrs = attrs_of(reduced);
    attrs.set("dtype", "float32");
    const HostTensor x = noise({DType::kBFloat16, reduced.shape}, 7);
    check_close(ops::kReduceSum, {x}, attrs, result_of(reduced, DType::kFloat32), 3e-6);
  }
}

TEST_CASE("sums of squares have the bits of squares that are added up") {
  for (const Reduced& reduced : many_reductions()) {
    CAPTURE(to_string(reduced.shape));
    const TensorType whole{DType::kFloat32, reduced.shape};
    const TensorType result = result_of(reduced, DType::kFloat32);
    const HostTensor x = noise(whole, 7);
    const HostTensor squares = call_placed(ops::kSquare, {x}, {}, whole);
    CHECK(check_close(ops::kSumOfSquares, {x}, attrs_of(reduced), result, 3e-6).bytes ==
          call_placed(ops::kReduceSum, {squares}, attrs_of(reduced), result).bytes);
  }
}

TEST_CASE("scaled sums have the bits of sums times their factor") {
  for (const Reduced& reduced : many_reductions()) {
    CAPTURE(to_string(reduced.shape));
    const TensorType result = result_of(reduced, DType::kFloat32);
    const HostTensor x = noise({DType::kFloat32, reduced.shape}, 7);
    const HostTensor sum = call_placed(ops::kReduceSum, {x}, attrs_of(reduced), result);
    Attrs attrs = attrs_of(reduced);
    attrs.set("factor", 0.3);
    HostTensor factor = host_tensor({DType::kFloat32, {}});
    *reinterpret_cast<float*>(factor.bytes.data()) = 0.3F;
    CHECK(check_close(ops::kScaledSum, {x}, attrs, result, 3e-6).bytes ==
          call_placed(ops::kMultiply, {sum, factor}, {}, result).bytes);
  }
}

TEST_CASE("sums side by side have the bits that each has alone") {
  const auto check = [](const OpDef& op, bool shifted) {
    std::vector<HostTensor> x, y, alone;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {  // more than one launch takes
      for (const Reduced& reduced : many_reductions()) {
        const TensorType result = result_of(reduced, DType::kFloat32);
        x.push_back(noise({DType::kFloat32, reduced.shape}, seed));
        y.push_back(host_tensor(result));
        alone.push_back(
            call_placed(op, {x.back()}, attrs_of(reduced), result, {.shift = shifted ? 1 : 0}));
      }
    }
    const auto view_of = [](HostTensor& tensor) {
      return TensorView{tensor.type, whole_region(tensor.type.shape), tensor.bytes.data()};
    };
    std::vector<FusionGroup> passes;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Reduced& reduced = many_reductions()[i % many_reductions().size()];
      FusionGroup& pass = passes.emplace_back();
      pass.kind = FusionGroup::Kind::kNode;
      pass.inputs = {view_of(x[i])};
      pass.members = {{op.name, attrs_of(reduced), {0}, view_of(y[i]), true}};
    }
    const std::vector<HostTensor> results = run_passes(gpu_backend(), passes, shifted);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(to_string(x[i].type.shape));
      CHECK(results.at(i).bytes == alone[i].bytes);
    }
  };
  for (const bool shifted : {false, true}) {
    check(ops::kSumOfSquares, shifted);
    check(ops::kReduceSum, shifted);
  }
}

TEST_CASE("the sum of nothing is 0, its maximum the least number") {
  for (const Reduced& reduced : {Reduced{{0, 5}, {0}}, Reduced{{5, 0}, {1}}, Reduced{{0}, {0}},
                                 Reduced{{4, 0, 3, 2}, {1, 3}}, Reduced{{0, 3}, {1}}}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt32, DType::kInt64}) {
      const HostTensor x = host_tensor(TensorType{dtype, reduced.shape});
      const TensorType result = result_of(reduced, dtype);
      check_close(ops::kReduceSum, {x}, attrs_of(reduced), result, 0);
      check_close(ops::kReduceMax, {x}, attrs_of(reduced), result, 0);
    }
  }
}

TEST_CASE("a maximum is NaN where one number is, infinities count") {
  for (const Reduced& reduced : {Reduced{{5, 3000}, {1}}, Reduced{{3000, 5}, {0}}}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const HostTensor x = filled({dtype, reduced.shape}, [&](std::int64_t i) -> double {
        const bool lines = reduced.axes[0] == 1;
        const std::int64_t line = lines ? i / 3000 : i % 5, place = lines ? i % 3000 : i / 5;
        if (line == 0 && place == 2999) return kNaN;
        if (line == 1 && place == 0) return kNaN;
        if (line == 2) return place == 1234 ? kInfinity : 1;
        if (line == 3) return -kInfinity;
        return -1;
      });
      check_close(ops::kReduceMax, {x}, attrs_of(reduced), result_of(reduced, dtype), 0);
    }
  }
}

TEST_CASE("large sums of float32 keep as many digits as the CPU's") {
  const auto cpu = make_cpu_backend(1);
  for (const Reduced& reduced :
       {Reduced{{1 << 20}, {0}}, Reduced{{1 << 19, 3}, {0}}, Reduced{{40000, 33}, {0}},
        Reduced{{4, 1 << 18}, {1}}, Reduced{{3, 300001}, {1}}}) {
    CAPTURE(to_string(reduced.shape));
    const HostTensor x = filled({DType::kFloat32, reduced.shape}, [](std::int64_t i) {
      return 0.5 + uniform_at(3, 0, static_cast<std::uint64_t>(i));
    });
    const TensorType result = result_of(reduced, DType::kFloat32);
    const Attrs attrs = attrs_of(reduced);
    const HostTensor exact = call_naive(ops::kReduceSum, {x}, attrs, result);
    const auto error = [&](const HostTensor& y) {
      double greatest = 0;
      for (std::size_t i = 0; i < y.as<float>().size(); ++i) {
        const double expected = exact.as<float>()[i];
        greatest = std::max(greatest, std::abs(y.as<float>()[i] - expected) / expected);
      }
      return greatest;
    };
    const double others = error(call_kernel(*cpu, ops::kReduceSum, {whole_part(x)}, attrs, result,
                                            whole_region(result.shape)));
    // Half a unit in the last place is lost where the result itself is rounded.
    CHECK(error(call_placed(ops::kReduceSum, {x}, attrs, result)) <= std::max(others, 2.4e-7));
  }
}
