// Random numbers of GPUs are those of the CPU, whole and in parts.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "cuda/case_runs.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kKey = -0x123456789abcdef;

struct Window {
  Shape global, offset, local;
};

const std::vector<Window>& windows() {
  static const std::vector<Window> list{
      {{}, {}, {}},
      {{7}, {0}, {7}},
      {{300, 31}, {0, 0}, {300, 31}},
      {{3001}, {5}, {2990}},
      {{6, 50, 9}, {2, 0, 0}, {3, 50, 9}},
      {{6, 50, 9}, {0, 7, 0}, {6, 11, 9}},
      {{6, 50, 9}, {1, 49, 5}, {5, 1, 4}},
      {{6, 50, 9}, {0, 0, 8}, {6, 50, 1}},
      {{6, 50, 9}, {5, 3, 1}, {1, 2, 3}},
      {{6, 50, 9}, {6, 0, 0}, {0, 50, 9}},
      {{8, 64}, {0, 32}, {8, 32}},
  };
  return list;
}

HostTensor run(Backend& backend, const OpDef& op, const Window& window, const Attrs& attrs,
               std::int64_t step) {
  std::vector<Part> inputs;
  const auto number = static_cast<double>(step);
  if (step > 0) {
    inputs.push_back(whole_part(filled({DType::kInt64, {}}, [&](std::int64_t) { return number; })));
  }
  return call_kernel(backend, op, inputs, attrs, {DType::kFloat32, window.local},
                     {window.global, window.offset});
}

/// How many floats lie between two.
std::int64_t floats_between(float a, float b) {
  const auto place = [](float x) {
    std::int32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<std::int64_t>(bits < 0 ? INT32_MIN - bits : bits);
  };
  return std::abs(place(a) - place(b));
}

}  // namespace

TEST_CASE("uniform numbers have the bits of the CPU") {
  const auto cpu = make_cpu_backend(1);
  const Attrs attrs{{"key", kKey}, {"low", -2.0}, {"high", 3.0}};
  for (const Window& window : windows()) {
    CAPTURE(to_string(window.local));
    for (const std::int64_t step : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5000000000}}) {
      CHECK(run(gpu_backend(), ops::kRandomUniform, window, attrs, step) ==
            run(*cpu, ops::kRandomUniform, window, attrs, step));
    }
  }
  const TensorType type{DType::kFloat32, {1000}};
  CHECK(call_placed(ops::kRandomUniform, {}, attrs, type, {.shift = 1}) ==
        call_naive(ops::kRandomUniform, {}, attrs, type));
}

// The same operations in double precision on both sides. log and cos of a GPU err by one and two
// units in the last place of a double, so that a number differs where it lies so near the middle of
// two floats: one in some 10^8, and by one float. Where such a z lies at 2, one side may take it
// and the other draw again: one in 10^15.
TEST_CASE("normal numbers are those of the CPU but for the last place of a few") {
  const auto cpu = make_cpu_backend(1);
  const Attrs attrs{{"key", kKey}, {"mean", 0.0}, {"stddev", 1.0}};
  for (const OpDef* op : {&ops::kRandomNormal, &ops::kTruncatedNormal}) {
    CAPTURE(op->name);
    for (const Window& window : windows()) {
      CAPTURE(to_string(window.local));
      for (const std::int64_t step : {std::int64_t{0}, std::int64_t{5000000000}}) {
        const HostTensor mine = run(gpu_backend(), *op, window, attrs, step);
        const HostTensor other = run(*cpu, *op, window, attrs, step);
        int different = 0;
        for (std::size_t i = 0; i < mine.as<float>().size(); ++i) {
          const std::int64_t apart = floats_between(mine.as<float>()[i], other.as<float>()[i]);
          CHECK(apart <= 1);
          different += static_cast<int>(apart != 0);
        }
        CHECK(different <= 1);
      }
    }
  }
}

TEST_CASE("orthogonal matrices are the naive ones, and the same for every window") {
  const auto naive = make_reference_backend();
  const Attrs attrs{{"key", kKey}, {"gain", 2.0}};
  for (const Window& window :
       {Window{{40, 24}, {0, 0}, {40, 24}}, Window{{24, 40}, {0, 0}, {24, 40}},
        Window{{300, 5}, {0, 0}, {300, 5}}, Window{{2, 3, 40}, {1, 0, 7}, {1, 3, 20}},
        Window{{2, 300}, {0, 0}, {2, 300}}, Window{{40, 24}, {10, 3}, {30, 20}},
        Window{{1, 1}, {0, 0}, {1, 1}}, Window{{0, 4}, {0, 0}, {0, 4}}}) {
    CAPTURE(to_string(window.global));
    const HostTensor q = run(gpu_backend(), ops::kOrthogonal, window, attrs, 0);
    CHECK(difference(q, run(*naive, ops::kOrthogonal, window, attrs, 0), 1e-6) == "");
    CHECK(run(gpu_backend(), ops::kOrthogonal, window, attrs, 0) == q);
  }
}
