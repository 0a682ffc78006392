#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/cpu/simd.h"
#include "elementwise/all.h"

using namespace meshwork;
using cpu::Isa;

namespace {

/// Subnormal numbers count until the end of the scope, whatever backends have set before.
class SubnormalsCount {
 public:
  SubnormalsCount() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~SubnormalsCount() { std::fesetenv(&before_); }
  SubnormalsCount(const SubnormalsCount&) = delete;
  SubnormalsCount& operator=(const SubnormalsCount&) = delete;

 private:
  std::fenv_t before_{};
};

/// One float in 9973 from all of them, and those where functions change their mind.
std::vector<float> sample() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U); bits += 9973) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  // The exponents where the functions bend are drawn more densely.
  for (std::uint32_t bits = 0x3c000000U; bits < 0x43000000U; bits += 499) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-std::bit_cast<float>(bits));
  }
  for (const float x :
       {0.0F, 1.0F, 0.625F, 4.0F, 88.72284F, 88.7F, 89.0F, 103.97F, 104.0F, 87.3F,
        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::max(), std::numeric_limits<float>::min(),
        std::numeric_limits<float>::denorm_min()}) {
    for (const float y : {x, std::nextafter(x, 0.0F), std::nextafter(x, HUGE_VALF)}) {
      values.push_back(y);
      values.push_back(-y);
    }
  }
  return values;
}

/// Distance of y from the exact value in units in the last place of the float next to it.
double error_in_ulps(float y, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(y) || std::isnan(rounded))
    return std::isnan(y) == std::isnan(rounded) ? 0 : HUGE_VAL;
  if (std::isinf(y) || std::isinf(rounded)) return y == rounded ? 0 : HUGE_VAL;
  const float size = std::abs(rounded);
  const double unit = static_cast<double>(std::nextafter(size, HUGE_VALF)) - size;
  return std::abs(y - exact) / unit;
}

template <class F>
double worst_error(double (*exact)(double)) {
  double worst = 0;
  for (const float x : sample()) {
    worst = std::max(worst, error_in_ulps(F::apply(x), exact(static_cast<double>(x))));
  }
  return worst;
}

template <class F>
struct Loop {
  [[gnu::always_inline]] static void run(const float* x, float* y, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i]);
  }
};

template <class F>
std::vector<std::uint32_t> bits_on(Isa isa, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  cpu::build_for<Loop<F>>(isa)(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  std::vector<std::uint32_t> bits(y.size());
  std::transform(y.begin(), y.end(), bits.begin(), [](float value) {
    // Which NaN it is says nothing.
    return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value);
  });
  return bits;
}

template <class F>
bool same_bits_on_all() {
  const std::vector<float> x = sample();
  const auto expected = bits_on<F>(Isa::kBaseline, x);
  bool same = true;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= cpu::machine_isa()) same = same && bits_on<F>(isa, x) == expected;
  }
  return same;
}

template <class Entry>
void check_accuracy_of() {
  if constexpr (Entry::kTraits.ulps > 0) {
    INFO(Entry::kTraits.name);
    CHECK(worst_error<Entry>([](double x) { return Entry::exact(x); }) < Entry::kTraits.ulps);
  }
}

template <class... Entries>
void check_accuracy(elementwise::List<Entries...>) {
  (check_accuracy_of<Entries>(), ...);
}

template <class Entry>
void check_bits_of() {
  if constexpr (elementwise::operand_count<Entry>() == 1) {
    INFO(Entry::kTraits.name);
    CHECK(same_bits_on_all<Entry>());
  }
}

template <class... Entries>
void check_bits(elementwise::List<Entries...>) {
  (check_bits_of<Entries>(), ...);
}

}  // namespace

TEST_CASE("vector functions are as accurate over all floats as their entries say") {
  const SubnormalsCount scope;
  check_accuracy(elementwise::All{});
  using namespace elementwise;
  CHECK(worst_error<Sqrt>([](double x) { return std::sqrt(x); }) <= 0.5);
  CHECK(worst_error<Floor>([](double x) { return std::floor(x); }) == 0);
  CHECK(worst_error<Relu>([](double x) { return x < 0 ? 0 : x; }) == 0);
}

TEST_CASE("no entry says that it is less accurate than it is known to be") {
  using namespace elementwise;
  CHECK(Exp::kTraits.ulps <= 1.0);
  CHECK(Log::kTraits.ulps <= 1.0);
  CHECK(Log1p::kTraits.ulps <= 1.6);
  CHECK(Tanh::kTraits.ulps <= 1.5);
  CHECK(Erf::kTraits.ulps <= 1.3);
  CHECK(Sigmoid::kTraits.ulps <= 2.4);
  CHECK(Softplus::kTraits.ulps <= 2.0);
}

TEST_CASE("vector functions give the same bits on every instruction set") {
  const SubnormalsCount scope;
  check_bits(elementwise::All{});
}
