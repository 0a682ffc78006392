// Products of GPUs: of every layout, of sizes that need several blocks, against the naive kernel.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "backend/cuda/products/product.h"
#include "base/bfloat16.h"
#include "base/rng.h"
#include "cuda/case_runs.h"
#include "device/cuda_device.h"
#include "ops/ops.h"
#include "support/equations.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr DType kFloat32 = DType::kFloat32, kBFloat16 = DType::kBFloat16;

/// Dtypes of a product.
struct Types {
  DType operands, result;
};

constexpr std::array kTypes{Types{kFloat32, kFloat32}, Types{kBFloat16, kBFloat16},
                            Types{kBFloat16, kFloat32}};

HostTensor tensor_of(const Shape& shape, DType dtype, const auto& element) {
  HostTensor tensor = host_tensor(TensorType{dtype, shape});
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_elements(shape)); ++i) {
    const auto value = static_cast<float>(element(i));
    if (dtype == kFloat32) {
      tensor.as<float>()[i] = value;
    } else {
      tensor.as<BFloat16>()[i] = BFloat16(value);
    }
  }
  return tensor;
}

/// Multiples of 1/4 in [-1, 1], which both dtypes hold, and of which sums are not rounded.
HostTensor quarters(const Shape& shape, DType dtype, std::uint64_t seed) {
  return tensor_of(shape, dtype,
                   [&](std::size_t i) { return std::floor(9 * uniform_at(seed, 0, i)) / 4 - 1; });
}

/// Of which products and sums are rounded.
HostTensor reals(const Shape& shape, DType dtype, std::uint64_t seed) {
  return tensor_of(shape, dtype, [&](std::size_t i) { return 2 * uniform_at(seed, 0, i) - 1; });
}

HostTensor magnitudes(const HostTensor& tensor) {
  const std::vector<double> values = to_doubles(tensor);
  return tensor_of(tensor.type.shape, tensor.type.dtype,
                   [&](std::size_t i) { return std::abs(values[i]); });
}

Attrs attrs_of(const EquationCase& c, const Types& types) {
  Attrs attrs{{"equation", c.equation()}};
  if (types.result != types.operands) attrs.set("dtype", std::string(to_string(types.result)));
  return attrs;
}

HostTensor naive(const EquationCase& c, const HostTensor& x, const HostTensor& w, DType result) {
  static const auto backend = make_reference_backend();
  const TensorType output{result, c.shape(c.y)};
  return call_kernel(*backend, ops::kEinsum, {whole_part(x), whole_part(w)},
                     attrs_of(c, {x.type.dtype, result}), output, whole_region(output.shape));
}

/// Memory of the GPU, with garbage in it, that begins so many bytes behind an aligned address.
class Memory {
 public:
  Memory(Stream& stream, std::int64_t bytes, std::int64_t shift)
      : bytes_(bytes), memory_(gpu_backend().device().allocate(bytes + shift)), shift_(shift) {
    const std::vector<std::byte> garbage(static_cast<std::size_t>(bytes), std::byte{0xCD});
    write(stream, garbage);
  }

  std::byte* data() const { return memory_.get() + shift_; }
  void write(Stream& stream, const std::vector<std::byte>& bytes) const {
    upload(gpu_backend().device(), stream, data(), bytes.data(), bytes_);
  }
  void read(Stream& stream, std::vector<std::byte>& bytes) const {
    download(gpu_backend().device(), stream, bytes.data(), data(), bytes_);
  }

 private:
  std::int64_t bytes_;
  std::shared_ptr<std::byte> memory_;
  std::int64_t shift_;
};

/// An einsum bound on the GPU, whose tensors lie `shift` elements behind aligned addresses.
class BoundEinsum {
 public:
  BoundEinsum(const EquationCase& c, const Types& types, std::int64_t shift = 0,
              Backend& backend = gpu_backend())
      : stream_(backend.device().make_stream()) {
    const KernelDef* kernel = backend.find("einsum");
    REQUIRE(kernel != nullptr);
    args_.attrs = attrs_of(c, types);
    for (const std::string* factors : {&c.x, &c.w, &c.y}) {
      const DType dtype = factors == &c.y ? types.result : types.operands;
      const TensorType type{dtype, c.shape(*factors)};
      memory_.emplace_back(*stream_, num_bytes(type),
                           shift * static_cast<std::int64_t>(size_of(dtype)));
      const TensorView view{type, whole_region(type.shape), memory_.back().data()};
      if (factors == &c.y) {
        args_.output = view;
      } else {
        args_.inputs.push_back(view);
      }
    }
    memory_.emplace_back(*stream_, backend.workspace(*kernel, args_), 0);
    args_.workspace = memory_.back().data();
    launch_ = backend.bind(*kernel, args_, *stream_);
  }

  HostTensor operator()(const HostTensor& x, const HostTensor& w, const Launch& launch) {
    memory_[0].write(*stream_, x.bytes);
    memory_[1].write(*stream_, w.bytes);
    launch();
    HostTensor y = host_tensor(args_.output.type);
    memory_[2].read(*stream_, y.bytes);
    return y;
  }
  HostTensor operator()(const HostTensor& x, const HostTensor& w) { return (*this)(x, w, launch_); }

  Launch recorded() { return stream_->recorded(launch_); }

 private:
  std::unique_ptr<Stream> stream_;
  std::vector<Memory> memory_;  ///< of x, w, y and the workspace
  KernelArgs args_;
  Launch launch_;
};

/// Sums that are not rounded must be right to the last bit.
void check_exact(const EquationCase& c, const Types& types, std::int64_t shift = 0) {
  INFO(c.equation(), " of ", to_string(c.shape(c.x)), " and ", to_string(c.shape(c.w)), ", ",
       to_string(types.operands), " to ", to_string(types.result), ", shifted by ", shift);
  const HostTensor x = quarters(c.shape(c.x), types.operands, 1);
  const HostTensor w = quarters(c.shape(c.w), types.operands, 2);
  CHECK(difference(BoundEinsum(c, types, shift)(x, w), naive(c, x, w, types.result), 0) == "");
}

/// Of k terms that are added up in any order, each sum and product rounded to float32, the sum is
/// off by less than (k + 1) / 2^24 of the sum of their magnitudes (Higham 2002, section 3.1); the
/// naive kernel is off by half a unit in the last place of its result, and so are both of one that
/// is bfloat16.
void check_bounds(const EquationCase& c, std::int64_t k, const Types& types) {
  INFO(c.equation(), ", k = ", k, ", ", to_string(types.operands), " to ", to_string(types.result));
  const HostTensor x = reals(c.shape(c.x), types.operands, 3);
  const HostTensor w = reals(c.shape(c.w), types.operands, 4);
  BoundEinsum bound(c, types);
  const HostTensor y = bound(x, w);
  CHECK(bound(x, w) == y);
  const std::vector<double> mine = to_doubles(y);
  const std::vector<double> expected = to_doubles(naive(c, x, w, types.result));
  const std::vector<double> sums =
      to_doubles(naive(c, magnitudes(x), magnitudes(w), DType::kFloat32));
  const double unit =
      static_cast<double>(k + 2) / (1 << 24) + (types.result == kBFloat16 ? 1.0 / 128 : 0);
  double worst = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    worst = std::max(worst, std::abs(mine[i] - expected[i]) / sums[i]);
  }
  CHECK(worst <= unit);
}

/// Every order of the factors of both operands and the result.
std::vector<EquationCase> layouts(std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<EquationCase> cases;
  for (const char* x : {"m k", "k m"}) {
    for (const char* w : {"k n", "n k"}) {
      for (const char* y : {"m n", "n m"}) {
        cases.push_back({x, w, y, {{"m", m}, {"n", n}, {"k", k}}});
      }
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("products on GPUs are the naive ones, whatever the equation") {
  for (const EquationCase& c : equation_cases()) check_exact(c, {kFloat32, kFloat32});
}

TEST_CASE("products on GPUs in every layout, at any address") {
  for (const Types& types : kTypes) {
    for (const EquationCase& c : layouts(70, 45, 130)) check_exact(c, types);
    for (const EquationCase& c : layouts(5, 200, 33)) check_exact(c, types, 1);
    for (const EquationCase& c : layouts(64, 8, 16)) check_exact(c, types, 8);
  }
}

TEST_CASE("large products on GPUs") {
  check_exact({"m k", "k n", "m n", {{"m", 300}, {"n", 200}, {"k", 257}}}, {kFloat32, kFloat32});
  check_exact({"k m", "n k", "m n", {{"m", 200}, {"n", 301}, {"k", 64}}}, {kBFloat16, kBFloat16});
}

TEST_CASE("stacks of products on GPUs") {
  for (const Types& types : kTypes) {
    const Extents matrices{{"b", 3}, {"m", 20}, {"n", 33}, {"k", 9}};
    check_exact({"b m k", "b k n", "b m n", matrices}, types);
    check_exact({"m b k", "b n k", "m b n", matrices}, types);
    check_exact({"m k b", "k n b", "m n b", matrices}, types);
    // A launch for each of a few places in the shorter dimension; of many, all is copied.
    for (const std::int64_t heads : {2, 9}) {
      const Extents heads_of{{"b", 9}, {"h", heads}, {"q", 17}, {"k", 19}, {"d", 8}};
      check_exact({"b q h d", "b k h d", "b h q k", heads_of}, types);
      check_exact({"b h q k", "b k h d", "b q h d", heads_of}, types);
    }
    const Extents three{{"a", 2}, {"b", 3}, {"c", 2}, {"m", 17}, {"n", 18}, {"k", 5}};
    check_exact({"a m b c k", "b a k c n", "c m a b n", three}, types);
  }
}

TEST_CASE("a stack on a GPU that is higher than a grid") {
  const EquationCase c{"b m k", "b k n", "b m n", {{"b", 65537}, {"m", 5}, {"n", 17}, {"k", 2}}};
  const HostTensor x = quarters(c.shape(c.x), kFloat32, 1);
  const HostTensor w = quarters(c.shape(c.w), kFloat32, 2);
  const HostTensor y = BoundEinsum(c, kTypes[0])(x, w);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < y.as<float>().size(); ++i) {
    const std::size_t n = i % 17, m = i / 17 % 5, b = i / 85;
    const float* row = &x.as<float>()[(b * 5 + m) * 2];
    const float* column = &w.as<float>()[b * 34 + n];
    wrong += y.as<float>()[i] == row[0] * column[0] + row[1] * column[17] ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("products of few rows on GPUs") {
  for (const Types& types : kTypes) {
    for (const std::int64_t rows : {1, 2, 3, 4}) {
      for (const EquationCase& c : layouts(rows, 77, 65)) check_exact(c, types);
      for (const EquationCase& c : layouts(264, rows, 200)) check_exact(c, types);
      for (const EquationCase& c : layouts(rows, 264, 200)) check_exact(c, types, 1);
    }
    const Extents stack{{"b", 3}, {"h", 2}, {"q", 1}, {"k", 40}, {"d", 72}};
    check_exact({"b q h d", "b k h d", "b h q k", stack}, types);
    check_exact({"b h q k", "b k h d", "b q h d", stack}, types);
  }
}

TEST_CASE("long sums of few results on GPUs, in parts") {
  for (const Types& types : kTypes) {
    for (const EquationCase& c : layouts(1, 33, 5000)) check_exact(c, types);
    for (const EquationCase& c : layouts(3, 2, 4096)) check_exact(c, types);
    check_exact({"k", "k", "", {{"k", 20011}}}, types);
    check_exact({"a b", "b a", "", {{"a", 40}, {"b", 50}}}, types);
    check_exact({"b k", "b k", "b", {{"b", 3}, {"k", 3000}}}, types);
    check_exact({"k b", "k b", "b", {{"b", 3}, {"k", 3000}}}, types);
  }
}

TEST_CASE("products on GPUs element by element") {
  for (const Types& types : kTypes) {
    check_exact({"m", "n", "m n", {{"m", 301}, {"n", 203}}}, types);
    check_exact({"m", "n", "n m", {{"m", 301}, {"n", 203}}}, types, 1);
    check_exact({"b m", "b n", "b m n", {{"b", 31}, {"m", 3}, {"n", 50}}}, types);
    check_exact({"a b c", "c b", "b a c", {{"a", 7}, {"b", 8}, {"c", 9}}}, types);
    check_exact(
        {"b q h d", "b k h d", "b h q k", {{"b", 5}, {"h", 6}, {"q", 7}, {"k", 9}, {"d", 64}}},
        types);
  }
}

TEST_CASE("products on GPUs of many factors") {
  const Extents extents{{"a", 2}, {"b", 3}, {"c", 2}, {"d", 3},  {"e", 2},
                        {"f", 3}, {"g", 2}, {"h", 2}, {"i", 20}, {"j", 21}};
  for (const Types& types : kTypes) {
    check_exact({"a b c d e f g h", "h f d b a c", "c a d b e g", extents}, types);
    check_exact({"i b a c h f", "f c j a b h", "c i a j b", extents}, types);
    check_exact({"i e b a h f", "f e j a b h", "e i a j b", extents}, types);
  }
}

TEST_CASE("a product that cuBLASLt does not know is an error that names it") {
  const std::unique_ptr<Stream> stream = gpu_backend().device().make_stream();
  const auto memory = gpu_backend().device().allocate(1 << 10);
  cuda::products::Product product{.stack = 3,
                                  .m = 5,
                                  .n = 6,
                                  .k = 7,
                                  .operands = kFloat32,
                                  .result = kBFloat16,
                                  .x = {memory.get(), 7, 1, 35},
                                  .w = {memory.get(), 6, 1, 42},
                                  .y = {memory.get(), 6, 1, 30}};
  CHECK_THROWS_WITH(
      cuda::products::product_launch(cuda::cuda_stream(*stream), product, memory.get()),
      doctest::Contains("device cuda: cuBLASLt has no algorithm for 3 products of float32 [5, 7] "
                        "and [7, 6] to bfloat16"));
}

TEST_CASE("products on GPUs are as close as sums of float32 can be told to be") {
  for (const Types& types : kTypes) {
    for (const std::int64_t k : {8, 16, 1000}) {
      check_bounds({"m k", "k n", "m n", {{"m", 33}, {"n", 40}, {"k", k}}}, k, types);
    }
    check_bounds({"m k", "k n", "m n", {{"m", 2}, {"n", 20}, {"k", 5000}}}, 5000, types);
    check_bounds({"m k", "n k", "m n", {{"m", 2}, {"n", 20}, {"k", 5000}}}, 5000, types);
    check_bounds({"b m k", "b k n", "b m n", {{"b", 4}, {"m", 6}, {"n", 7}, {"k", 50}}}, 50, types);
  }
}

TEST_CASE("products on GPUs round operands of float32 to TensorFloat-32 where that is asked for") {
  Target target = cuda_target();
  target.tensor_float32 = true;
  const auto backend = make_cuda_backend(0, target);
  const EquationCase c{"m k", "k n", "m n", {{"m", 70}, {"n", 45}, {"k", 130}}};
  // Between two numbers of 10 bits of fraction, nearer to the lower; no sum of float32 is rounded.
  const auto quarter = [](std::size_t i) { return 1 + std::floor(4 * uniform_at(5, 0, i)) / 4; };
  const HostTensor low = tensor_of(c.shape(c.x), kFloat32, quarter);
  const HostTensor x = tensor_of(c.shape(c.x), kFloat32,
                                 [&](std::size_t i) { return quarter(i) + 1.0 / (1 << 12U); });
  const HostTensor w = quarters(c.shape(c.w), kFloat32, 6);
  const HostTensor whole = naive(c, x, w, kFloat32), rounded = naive(c, low, w, kFloat32);
  REQUIRE(difference(whole, rounded, 0) != "");
  for (int round = 0; round < 2; ++round) {  // the algorithms chosen for both stay apart
    const HostTensor result = BoundEinsum(c, kTypes[0], 0, *backend)(x, w);
    // cuBLASLt may round, and does for products that are large.
    const bool is_whole = difference(result, whole, 0) == "" && !has_emulated_cublaslt();
    CHECK((is_whole || difference(result, rounded, 0) == ""));
    CHECK(difference(BoundEinsum(c, kTypes[0])(x, w), whole, 0) == "");
  }
  const HostTensor narrow_x = quarters(c.shape(c.x), kBFloat16, 7);
  const HostTensor narrow_w = quarters(c.shape(c.w), kBFloat16, 8);
  CHECK(difference(BoundEinsum(c, kTypes[2], 0, *backend)(narrow_x, narrow_w),
                   naive(c, narrow_x, narrow_w, kFloat32), 0) == "");
  if (has_emulated_cublaslt()) return;
  const EquationCase large{"m k", "k n", "m n", {{"m", 512}, {"n", 1024}, {"k", 1024}}};
  const auto some = [](std::size_t i) { return uniform_at(9, 0, i); };
  const HostTensor large_x = tensor_of(large.shape(large.x), kFloat32, some);
  const HostTensor large_w = tensor_of(large.shape(large.w), kFloat32, some);
  CHECK(difference(BoundEinsum(large, kTypes[0], 0, *backend)(large_x, large_w),
                   BoundEinsum(large, kTypes[0])(large_x, large_w), 0) != "");
}

TEST_CASE("a recorded product on a GPU reads its operands anew") {
  const Extents extents{{"b", 9}, {"h", 9}, {"q", 17}, {"k", 19}, {"d", 8}};  // copied
  const EquationCase c{"b q h d", "b k h d", "b h q k", extents};
  BoundEinsum bound(c, kTypes[0]);
  const Launch launch = bound.recorded();
  REQUIRE(launch);
  for (const std::uint64_t seed : {1, 2}) {
    const HostTensor x = quarters(c.shape(c.x), kFloat32, seed);
    const HostTensor w = quarters(c.shape(c.w), kFloat32, seed + 10);
    CHECK(difference(bound(x, w, launch), naive(c, x, w, kFloat32), 0) == "");
  }
}
