#include "kernel_runner.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/convert.h"
#include "backend/types.h"
#include "base/check.h"
#include "base/rng.h"

namespace meshwork::testing {
namespace {

constexpr std::int64_t kGuard = 64;
constexpr std::byte kGarbage{0xCD};

/// Memory of a backend with a guard behind it.
struct Guarded {
  std::shared_ptr<std::byte> memory;
  std::int64_t bytes = 0;

  Guarded(Backend& backend, std::int64_t size)
      : memory(backend.device().allocate(size + kGuard)), bytes(size) {
    std::memset(memory.get(), std::to_integer<int>(kGarbage),
                static_cast<std::size_t>(size + kGuard));
  }
  bool intact() const {
    for (std::int64_t i = 0; i < kGuard; ++i) {
      if (memory.get()[bytes + i] != kGarbage) return false;
    }
    return true;
  }
};

void write(const Tensor& from, std::byte* to) {
  with_type(from.type.dtype, [&](auto value) {
    using T = decltype(value);
    for (std::size_t i = 0; i < from.values.size(); ++i) {
      reinterpret_cast<T*>(to)[i] = convert<T>(from.values[i]);
    }
  });
}

std::vector<double> read(const TensorType& type, const std::byte* from) {
  std::vector<double> values(static_cast<std::size_t>(num_elements(type.shape)));
  with_type(type.dtype, [&](auto value) {
    using T = decltype(value);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(reinterpret_cast<const T*>(from)[i]);
    }
  });
  return values;
}

Region region_or_whole(const Region& region, const Shape& shape) {
  return region.global.size() == shape.size() ? region : whole_region(shape);
}

/// Place of a float in the order of all floats.
std::int64_t place(double value) {
  const auto bits = std::bit_cast<std::int32_t>(static_cast<float>(value));
  return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
}

}  // namespace

Tensor tensor(DType dtype, Shape shape, std::vector<double> values) {
  MW_CHECK(num_elements(shape) == static_cast<std::int64_t>(values.size()));
  return {{dtype, std::move(shape)}, {}, std::move(values)};
}

Tensor some_tensor(DType dtype, Shape shape, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(num_elements(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double whole = std::floor(64 * static_cast<double>(uniform_at(seed, 0, i)));
    values[i] = dtype == DType::kFloat32 ? (whole - 32) / 8
                : dtype == DType::kUInt8 ? whole
                                         : whole - 32;
  }
  return tensor(dtype, std::move(shape), std::move(values));
}

Tensor floats(Shape shape, std::vector<double> values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return tensor(DType::kFloat32, std::move(shape), std::move(values));
}

Tensor some_floats(Shape shape, std::uint64_t seed) {
  return some_tensor(DType::kFloat32, std::move(shape), seed);
}

Tensor normals(Shape shape, std::uint64_t seed) {
  Tensor result = some_floats(std::move(shape), seed);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = static_cast<double>(normal_at(seed, 0, i));
  }
  return result;
}

Tensor run(Backend& backend, std::string_view op, const std::vector<Tensor>& inputs,
           TensorType output, const Attrs& attrs, const RunOptions& options) {
  const KernelDef* kernel = backend.find(op);
  MW_CHECK(kernel != nullptr, "no kernel for '{}'", op);
  KernelArgs args;
  args.attrs = attrs;
  args.output = {output, region_or_whole(options.region, output.shape), nullptr};
  for (const Tensor& input : inputs) {
    args.inputs.push_back({input.type, region_or_whole(input.region, input.type.shape), nullptr});
  }
  const Guarded workspace(backend, backend.workspace(*kernel, args));
  args.workspace = workspace.memory.get();
  std::vector<Guarded> memory;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    memory.emplace_back(backend, num_bytes(inputs[i].type));
    write(inputs[i], memory.back().memory.get());
    args.inputs[i].data = memory.back().memory.get();
  }
  memory.emplace_back(backend, num_bytes(output));
  const auto target =
      options.in_place >= 0 ? static_cast<std::size_t>(options.in_place) : inputs.size();
  args.output.data = memory[target].memory.get();

  backend.bind(*kernel, args, *backend.device().make_stream())();
  CHECK(workspace.intact());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CHECK(memory[i].intact());
    if (i == target) continue;
    CHECK(same({inputs[i].type, {}, read(inputs[i].type, args.inputs[i].data)}, inputs[i]));
  }
  CHECK(memory.back().intact());
  return {output, options.region, read(output, args.output.data)};
}

double ulps(const Tensor& a, const Tensor& b) {
  MW_CHECK(a.type == b.type);
  double worst = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (std::isnan(a.values[i]) && std::isnan(b.values[i])) continue;
    if (std::isnan(a.values[i]) || std::isnan(b.values[i])) return HUGE_VAL;
    worst = std::max(worst, std::abs(static_cast<double>(place(a.values[i]) - place(b.values[i]))));
  }
  return worst;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.type != b.type || a.values.size() != b.values.size()) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (std::isnan(a.values[i]) && std::isnan(b.values[i])) continue;
    if (a.values[i] != b.values[i] || std::signbit(a.values[i]) != std::signbit(b.values[i])) {
      return false;
    }
  }
  return true;
}

void check_fast(std::string_view op, const std::vector<Tensor>& inputs, const TensorType& output,
                const Attrs& attrs, double max_ulps, const std::vector<int>& in_place) {
  const Tensor expected = run(*make_reference_backend(), op, inputs, output, attrs);
  const Tensor actual = run(*make_cpu_backend(1), op, inputs, output, attrs);
  const double difference = ulps(actual, expected);
  CHECK_MESSAGE(difference <= max_ulps, op, " ", to_string(attrs), ": ", to_text(actual),
                " instead of ", to_text(expected));
  CHECK(same(run(*make_cpu_backend(2), op, inputs, output, attrs), actual));
  for (const int operand : in_place) {
    CHECK(
        same(run(*make_cpu_backend(2), op, inputs, output, attrs, {.in_place = operand}), actual));
    CHECK(ulps(run(*make_reference_backend(), op, inputs, output, attrs, {.in_place = operand}),
               expected) == 0);
  }
}

void check_threads(std::string_view op, const std::vector<Tensor>& inputs, const TensorType& output,
                   const Attrs& attrs) {
  const Tensor alone = run(*make_cpu_backend(1), op, inputs, output, attrs);
  for (const int threads : {2, 3, 4, 9}) {
    const Tensor others = run(*make_cpu_backend(threads), op, inputs, output, attrs);
    CHECK_MESSAGE(same(alone, others), op, " with ", threads, " threads: ", to_text(others),
                  " instead of ", to_text(alone));
  }
  omp_set_num_threads(1);
}

std::string to_text(const Tensor& a) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(a.values.size(), 24));
  return fmt::format("{} {{{}{}}}", to_string(a.type),
                     fmt::join(a.values.begin(), a.values.begin() + shown, ", "),
                     a.values.size() > 24 ? ", .." : "");
}

}  // namespace meshwork::testing
