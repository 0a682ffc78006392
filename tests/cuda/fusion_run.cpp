#include "cuda/fusion_run.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>

#include "backend/cuda/elementwise/formulas.h"
#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"
#include "base/rng.h"

namespace meshwork::testing {
namespace {

/// Memory of a device for memory of the host.
class Mirror {
 public:
  Mirror(Backend& backend, Stream& stream, bool shifted)
      : device_(backend.device()), stream_(stream), shifted_(shifted) {}

  std::byte* place(const TensorView& view) {
    const auto known = places_.find(view.data);
    if (known != places_.end()) return known->second;
    const std::int64_t bytes = num_bytes(view.type);
    const auto shift = shifted_ ? static_cast<std::int64_t>(size_of(view.type.dtype)) : 0;
    std::byte* const place = allocate(bytes + shift) + shift;
    upload(device_, stream_, place, view.data, bytes);
    return places_[view.data] = place;
  }
  std::byte* allocate(std::int64_t bytes) {
    memory_.push_back(device_.allocate(std::max<std::int64_t>(bytes, 1)));
    return memory_.back().get();
  }
  FusionGroup placed(const FusionGroup& group) {
    FusionGroup args = group;
    for (TensorView& input : args.inputs) input.data = place(input);
    for (FusionGroup::Member& member : args.members) {
      member.output.data = member.is_read ? place(member.output) : nullptr;
    }
    return args;
  }
  void read(const FusionGroup& group, std::vector<HostTensor>& results) {
    for (const FusionGroup::Member& member : group.members) {
      if (member.is_read) results.push_back(read(member.output));
    }
  }
  HostTensor read(const TensorView& view) {
    HostTensor tensor = host_tensor(view.type);
    download(device_, stream_, tensor.bytes.data(), places_.at(view.data), num_bytes(view.type));
    return tensor;
  }

 private:
  Device& device_;
  Stream& stream_;
  bool shifted_;
  std::map<std::byte*, std::byte*> places_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

template <class T>
std::string bit_difference_of(const HostTensor& a, const HostTensor& b) {
  for (std::size_t i = 0; i < a.as<T>().size(); ++i) {
    const T left = a.as<T>()[i], right = b.as<T>()[i];
    const bool are_nan = left != left && right != right;
    if (!are_nan && std::memcmp(&left, &right, sizeof(T)) != 0) {
      return fmt::format("element {} of {}: {} is not {}", i, to_string(a.type),
                         static_cast<double>(left), static_cast<double>(right));
    }
  }
  return "";
}

/// body(T{}) with the type of a tensor's elements.
template <class Body>
auto with_elements(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32:
      return body(float{});
    case DType::kBFloat16:
      return body(BFloat16{});
    case DType::kFloat16:
      return body(Float16{});
    case DType::kInt32:
      return body(std::int32_t{});
    case DType::kInt64:
      return body(std::int64_t{});
    default:
      MW_CHECK(dtype == DType::kUInt8);
      return body(std::uint8_t{});
  }
}

template <class T>
T wild_number(std::uint64_t seed, std::uint64_t i) {
  const auto bits = philox(seed, 0, i);
  if constexpr (std::is_integral_v<T>) {
    constexpr T kEnds[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 0};
    if (bits[0] % 4 < std::size(kEnds) - 1) return kEnds[bits[0] % 4];
    return static_cast<T>(bits[1] % 7 < 3 ? bits[1] % 5
                                          : (std::uint64_t{bits[2]} << 31U) + bits[1]);
  } else {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kSpecial[] = {
        0.0F,      -0.0F, 1.0F,       -1.0F, std::numeric_limits<float>::quiet_NaN(),
        kInfinity, 88.5F, -kInfinity, 2.0F,  -2.0F,
        -88.5F,    0.5F};
    if (bits[0] % 5 == 0) return T(kSpecial[bits[1] % std::size(kSpecial)]);
    const int exponent = static_cast<int>(bits[1] % 41) - (bits[0] % 5 == 1 ? 20 : 30);
    const float mantissa = static_cast<float>(bits[2]) * 0x1p-32F + 0.5F;
    return T(std::ldexp(bits[3] % 2 == 0 ? mantissa : -mantissa, exponent / 2));
  }
}

/// Bytes of scratch, which are asked for before there is memory.
std::int64_t workspace_of(const Backend& backend, FusionGroup group) {
  for (TensorView& input : group.inputs) input.data = nullptr;
  for (FusionGroup::Member& member : group.members) member.output.data = nullptr;
  return backend.fusion_workspace(group);
}

}  // namespace

std::vector<HostTensor> run_fusion(Backend& backend, const FusionGroup& group, bool shifted,
                                   const BindFusion& bind) {
  const std::unique_ptr<Stream> stream = backend.device().make_stream();
  Mirror mirror(backend, *stream, shifted);
  FusionGroup args = mirror.placed(group);
  args.workspace = mirror.allocate(workspace_of(backend, group));
  const Launch launch = bind ? bind(args, *stream) : backend.bind_fusion(args, *stream);
  launch();
  std::vector<HostTensor> results;
  mirror.read(group, results);
  return results;
}

std::vector<HostTensor> run_passes(Backend& backend, std::span<const FusionGroup> passes,
                                   bool shifted) {
  const std::unique_ptr<Stream> stream = backend.device().make_stream();
  Mirror mirror(backend, *stream, shifted);
  std::vector<FusionGroup> placed;
  for (const FusionGroup& pass : passes) {
    placed.push_back(mirror.placed(pass));
    placed.back().workspace = mirror.allocate(workspace_of(backend, pass));
  }
  backend.bind_passes(placed, *stream)();
  std::vector<HostTensor> results;
  for (const FusionGroup& pass : passes) mirror.read(pass, results);
  return results;
}

std::string bit_difference(const HostTensor& a, const HostTensor& b) {
  MW_CHECK(a.type == b.type);
  return with_elements(a.type.dtype,
                       [&](auto number) { return bit_difference_of<decltype(number)>(a, b); });
}

void check_same(const std::vector<HostTensor>& found, const std::vector<HostTensor>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(bit_difference(found[i], expected[i]) == "");
}

void check_near(const std::vector<HostTensor>& found, const std::vector<HostTensor>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<double> a = to_doubles(found[i]), b = to_doubles(expected[i]);
    REQUIRE(a.size() == b.size());
    double greatest = 1, difference = 0;
    for (const double each : b) greatest = std::max(greatest, std::abs(each));
    const double tolerance = found[i].type.dtype == DType::kFloat32 ? 1e-5 : 1e-2;
    for (std::size_t j = 0; j < a.size(); ++j) {
      difference = std::max(difference, std::abs(a[j] - b[j]) / greatest);
    }
    CHECK(difference <= tolerance);
  }
}

bool rounds_otherwise(std::string_view op) {
  const cuda::WriteFormula formula = cuda::find_formula(op);
  cuda::Writer writer;
  for (std::size_t operands = 1; operands <= 3; ++operands) {
    const std::vector<std::string> names(operands, "x");
    try {
      formula(writer, DType::kFloat32, names);
    } catch (const CheckFailure&) {  // it has more operands
    }
  }
  const auto calls = [&](const char* name) {
    return writer.statements().find(name) != std::string::npos;
  };
  return calls("cosf(") || calls("powf(") || calls("sinf(") || calls("expf(") || calls("fmaf(");
}

HostTensor wild_tensor(const TensorType& type, std::uint64_t seed) {
  HostTensor tensor = host_tensor(type);
  with_elements(type.dtype, [&](auto number) {
    using T = decltype(number);
    for (std::size_t i = 0; i < tensor.as<T>().size(); ++i) {
      tensor.as<T>()[i] = wild_number<T>(seed, i);
    }
  });
  return tensor;
}

}  // namespace meshwork::testing
