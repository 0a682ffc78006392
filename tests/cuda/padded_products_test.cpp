// Products of matrices whose lines begin anywhere: copied to where they begin at 16 bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "backend/cuda/kernel.h"
#include "backend/cuda/products/padding.h"
#include "base/bfloat16.h"
#include "cuda/case_runs.h"

using namespace meshwork;
using namespace meshwork::testing;
using cuda::products::MatrixStack;
using cuda::products::Product;

namespace {

constexpr DType kFloat32 = DType::kFloat32, kBFloat16 = DType::kBFloat16;
constexpr std::byte kGarbage{0xC7};
constexpr std::int64_t kGuard = 64;

/// Where matrices of a product lie one row, or one column, after the other.
struct Order {
  bool x_by_rows, w_by_rows;
};

MatrixStack matrix(std::int64_t rows, std::int64_t columns, bool by_rows) {
  return {.rows = by_rows ? columns : 1, .columns = by_rows ? 1 : rows};
}

Product product(std::int64_t m, std::int64_t n, std::int64_t k, DType result, Order order) {
  return {.m = m,
          .n = n,
          .k = k,
          .operands = kBFloat16,
          .result = result,
          .x = matrix(m, k, order.x_by_rows),
          .w = matrix(k, n, order.w_by_rows),
          .y = matrix(m, n, true)};
}

/// Whole numbers from -3 to 3, element i of a matrix.
float number(std::int64_t i, std::int64_t seed) {
  return static_cast<float>((i * 37 + seed * 11 + i * i % 5) % 7 - 3);
}

std::int64_t place(const MatrixStack& m, std::int64_t row, std::int64_t column) {
  return row * m.rows + column * m.columns;
}

/// Device memory with garbage, or with numbers.
class Memory {
 public:
  Memory(Stream& stream, std::int64_t bytes)
      : stream_(stream), data_(gpu_backend().device().allocate(bytes)), bytes_(bytes) {
    put(std::vector<std::byte>(static_cast<std::size_t>(bytes), kGarbage));
  }

  std::byte* data() const { return data_.get(); }
  void put(const std::vector<std::byte>& bytes) {
    upload(gpu_backend().device(), stream_, data(), bytes.data(),
           static_cast<std::int64_t>(bytes.size()));
  }
  void put_numbers(std::int64_t count, std::int64_t seed) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(BFloat16));
    for (std::int64_t i = 0; i < count; ++i) {
      reinterpret_cast<BFloat16*>(bytes.data())[i] = BFloat16(number(i, seed));
    }
    put(bytes);
  }
  std::vector<std::byte> get() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_));
    download(gpu_backend().device(), stream_, bytes.data(), data(), bytes_);
    return bytes;
  }

 private:
  Stream& stream_;
  std::shared_ptr<std::byte> data_;
  std::int64_t bytes_;
};

double expected(const Product& p, std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += static_cast<double>(number(place(p.x, row, k), 1)) * number(place(p.w, k, column), 2);
  }
  return sum;
}

double element(const std::vector<std::byte>& bytes, DType dtype, std::int64_t i) {
  return dtype == kFloat32 ? double{reinterpret_cast<const float*>(bytes.data())[i]}
                           : double{float(reinterpret_cast<const BFloat16*>(bytes.data())[i])};
}

void check(Product p) {
  CAPTURE(p.m);
  CAPTURE(p.n);
  CAPTURE(p.k);
  CAPTURE(to_string(p.result));
  const auto stream = gpu_backend().device().make_stream();
  Memory x(*stream, p.m * p.k * 2), w(*stream, p.k * p.n * 2);
  const std::int64_t bytes = p.m * p.n * static_cast<std::int64_t>(size_of(p.result));
  Memory y(*stream, bytes + kGuard), scratch(*stream, cuda::products::padded_workspace(p) + kGuard);
  x.put_numbers(p.m * p.k, 1);
  w.put_numbers(p.k * p.n, 2);
  p.x.data = x.data();
  p.w.data = w.data();
  p.y.data = y.data();
  cuda::products::padded_launch(cuda::cuda_stream(*stream), p, scratch.data())();
  const std::vector<std::byte> result = y.get(), left = scratch.get();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    wrong += element(result, p.result, i) == expected(p, i / p.n, i % p.n) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(std::count(result.end() - kGuard, result.end(), kGarbage) == kGuard);
  CHECK(std::count(left.end() - kGuard, left.end(), kGarbage) == kGuard);
}

}  // namespace

TEST_CASE("products of lines that begin anywhere, in every order") {
  for (const DType result : {kBFloat16, kFloat32}) {
    for (const bool x_by_rows : {true, false}) {
      for (const bool w_by_rows : {true, false}) {
        const Order order{x_by_rows, w_by_rows};
        CAPTURE(x_by_rows);
        CAPTURE(w_by_rows);
        check(product(19, 21, 13, result, order));
        check(product(16, 33, 24, result, order));
        check(product(17, 16, 8, result, order));
        check(product(24, 8, 9, result, order));
        check(product(300, 1, 5, result, order));
        check(product(8, 2061, 8, result, order));
      }
    }
  }
}

TEST_CASE("aligned products are padded by nothing") {
  const Product p = product(16, 24, 32, kBFloat16, {true, false});
  CHECK(cuda::products::padded_workspace(p) == cuda::products::product_workspace(1, 16, 24, 32));
  check(p);
}

TEST_CASE("large products of odd lines are worth copies, others are not") {
  using cuda::products::pays_padding;
  // Logits of GPT-2, and their gradients.
  CHECK(pays_padding(product(8192, 50257, 768, kBFloat16, {true, false})));
  CHECK(pays_padding(product(8192, 768, 50257, kBFloat16, {true, true})));
  CHECK(pays_padding(product(50257, 768, 8192, kFloat32, {false, true})));
  CHECK(!pays_padding(product(8192, 50304, 768, kBFloat16, {true, false})));
  CHECK(!pays_padding(product(128, 10, 784, kBFloat16, {true, true})));
  CHECK(!pays_padding(product(8192, 50257, 64, kBFloat16, {true, false})));
  Product other = product(8192, 50257, 768, kBFloat16, {true, false});
  other.stack = 2;
  CHECK(!pays_padding(other));
  other.stack = 1;
  std::byte bias{};
  other.epilogue.bias = &bias;
  CHECK(!pays_padding(other));
  other.epilogue.bias = nullptr;
  other.operands = other.result = kFloat32;
  CHECK(!pays_padding(other));
}

TEST_CASE("a large product of odd lines as a program asks for it") {
  const std::int64_t m = 2048, n = 1023, k = 1024;
  const auto stream = gpu_backend().device().make_stream();
  Memory x(*stream, m * k * 2), w(*stream, k * n * 2), y(*stream, m * n * 2);
  x.put_numbers(m * k, 1);
  w.put_numbers(k * n, 2);
  const Product p = product(m, n, k, kBFloat16, {true, true});
  REQUIRE(cuda::products::pays_padding(p));
  const auto view = [](const Memory& memory, const Shape& shape) {
    return TensorView{{kBFloat16, shape}, whole_region(shape), memory.data()};
  };
  KernelArgs args{.inputs = {view(x, {m, k}), view(w, {k, n})},
                  .output = view(y, {m, n}),
                  .attrs = {{"equation", std::string("m k, k n -> m n")}}};
  const KernelDef& kernel = *gpu_backend().find("einsum");
  Memory scratch(*stream, gpu_backend().workspace(kernel, args));
  args.workspace = scratch.data();
  gpu_backend().bind(kernel, args, *stream)();
  const std::vector<std::byte> result = y.get();
  for (const std::int64_t i : {std::int64_t{0}, m * n / 2 + 5, m * n - 1}) {
    const BFloat16 rounded(static_cast<float>(expected(p, i / n, i % n)));
    CHECK(element(result, kBFloat16, i) == static_cast<float>(rounded));
  }
}
