// Products whose algorithms are measured: what files hold of them, and what is taken for the
// fastest.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "backend/cuda/products/heuristics.h"
#include "backend/cuda/products/measure.h"
#include "backend/cuda/products/table.h"
#include "backend/tuned_products.h"
#include "base/error.h"
#include "cuda/case_runs.h"
#include "device/cuda_device.h"
#include "support/temp_directory.h"

using namespace meshwork;
using namespace meshwork::cuda::products;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::test::write_text;

namespace {

cuda::Gpu& gpu() { return cuda::Gpu::open(0); }

/// x w row by row, at addresses where nothing is read.
Product product_of(std::int64_t stack, std::int64_t m, std::int64_t n, std::int64_t k,
                   DType dtype = DType::kFloat32) {
  std::byte* const somewhere = reinterpret_cast<std::byte*>(1 << 20U);
  return {.stack = stack,
          .m = m,
          .n = n,
          .k = k,
          .operands = dtype,
          .result = dtype,
          .x = {somewhere, k, 1, m * k},
          .w = {somewhere + 4 * size_of(dtype), n, 1, k * n},
          .y = {somewhere, n, 1, m * n}};
}

Problem problem_by_columns(const Product& product) { return problem_of(by_columns(product)); }

/// A table of algorithms that heuristics name.
Table some_table() {
  Table table = table_for(gpu());
  for (const Product& product : {product_of(1, 40, 50, 60), product_of(3, 20, 30, 40),
                                 product_of(1, 40, 50, 60, DType::kBFloat16)}) {
    const Problem problem = problem_by_columns(product);
    const auto algorithms =
        proposed_algorithms(gpu(), problem, Description(problem, nullptr), text_of(problem), 16);
    table.products[problem] = {
        .algorithm = algorithms.back(), .microseconds = 1.25, .before = 2.5, .tried = 3};
  }
  return table;
}

/// What a file of this text is refused for; nullopt where it is read, as `table` then.
std::optional<std::string> refusal(const std::string& file, const std::string& text, Table& table) {
  write_text(file, text);
  try {
    table = read_table(gpu(), file);
    return std::nullopt;
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kFile);
    return error.what();
  }
}

/// Another folder of what is kept, for a while.
class CacheFolder {
 public:
  explicit CacheFolder(const std::string& folder) {
    if (const char* const value = std::getenv(kName)) before_ = value;
    setenv(kName, folder.c_str(), 1);
  }
  ~CacheFolder() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }

 private:
  static constexpr const char* kName = "MESHWORK_CUDA_CACHE";
  std::optional<std::string> before_;
};

/// The einsum of a product as a kernel, `apart` elements behind the beginning of memory.
KernelUse kernel_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t apart = 0) {
  std::byte* const somewhere = reinterpret_cast<std::byte*>(1 << 20U) + 4 * apart;
  const auto view = [&](const Shape& shape) {
    return TensorView{{DType::kFloat32, shape}, {}, somewhere};
  };
  KernelArgs args;
  args.inputs = {view({m, k}), view({k, n})};
  args.output = view({m, n});
  args.attrs.set("equation", "m k, k n -> m n");
  args.workspace = somewhere;
  return {"einsum", {args}, true};
}

/// A convolution of `images` images of 8x8 pixels and 64 channels, with as many filters, or a
/// gradient of it.
KernelUse convolution_of(std::string_view op, std::int64_t window, std::int64_t images) {
  std::byte* const somewhere = reinterpret_cast<std::byte*>(1 << 20U);
  const auto view = [&](const Shape& shape) {
    return TensorView{{DType::kFloat32, shape}, whole_region(shape), somewhere};
  };
  const TensorView image = view({images, 8, 8, 64}), filter = view({window, window, 64, 64});
  const bool gives_filter = op == "convolution_backward_filter";
  KernelArgs args;
  args.inputs = {image, gives_filter ? image : filter};
  args.output = gives_filter ? filter : image;
  args.attrs = {{"strides", std::vector<std::int64_t>{1, 1}},
                {"padding", std::vector<std::int64_t>{window / 2, window / 2}},
                {"dilations", std::vector<std::int64_t>{1, 1}},
                {"groups", std::int64_t{1}},
                {"extents", gives_filter ? std::vector<std::int64_t>{window, window}
                                         : std::vector<std::int64_t>{8, 8}}};
  args.workspace = somewhere;
  return {op, {args}, true};
}

}  // namespace

TEST_CASE(
    "a table of products is read as it was written, and its digest is that of its algorithms") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  Table table = some_table();
  CHECK(read_table(gpu(), file).products.empty());
  write_table(table, file);
  const Table read = read_table(gpu(), file);
  REQUIRE(read.products.size() == 3);
  CHECK(read.gpu == table.gpu);
  for (const auto& [problem, tuned] : table.products) {
    REQUIRE(read.products.contains(problem));
    const Tuned& mine = read.products.at(problem);
    CHECK(std::equal(std::begin(mine.algorithm.data), std::end(mine.algorithm.data),
                     std::begin(tuned.algorithm.data)));
    CHECK(mine.microseconds == 1.25);
    CHECK(mine.before == 2.5);
    CHECK(mine.tried == 3);
  }
  CHECK(read_text(file).find("\"3 products of float32 [20, 40] and [40, 30] to float32\"") !=
        std::string::npos);
  CHECK(digest(read) == digest(table));
  table.products.begin()->second.microseconds = 7;
  CHECK(digest(read) == digest(table));
  table.products.begin()->second.algorithm.data[3] ^= 1;
  CHECK(digest(read) != digest(table));
  table = some_table();
  table.products.erase(table.products.begin());
  CHECK(digest(read) != digest(table));
}

TEST_CASE("a table that is damaged is an error of one line, or decides what it did before") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  const Table table = some_table();
  write_table(table, file);
  const std::string whole = read_text(file);
  Table read;
  const auto check = [&](const std::string& text) {
    const std::optional<std::string> error = refusal(file, text, read);
    if (!error) {
      CHECK(digest(read) == digest(table));
      return false;
    }
    CHECK(error->starts_with(file + ": "));
    CHECK(error->find("run 'meshwork tune'") != std::string::npos);
    CHECK(error->find('\n') == std::string::npos);
    return true;
  };
  CHECK_FALSE(check(whole));
  for (std::size_t size = 0; size + 2 < whole.size(); size += 37) {
    CAPTURE(size);
    CHECK(check(whole.substr(0, size)));
  }
  int refused = 0;
  for (std::size_t place = 0; place < whole.size(); place += 5) {
    CAPTURE(place);
    std::string text = whole;
    text[place] = text[place] == '7' ? '8' : '7';
    refused += check(text) ? 1 : 0;
  }
  CHECK(refused > 100);
  for (const char* text : {"[]", "7", "null", "{}", "\xff\xfe", "{\"gpu\": 3}"}) CHECK(check(text));
}

TEST_CASE("a table of another GPU or version is an error that says of which") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  Table table = some_table(), read;
  ++table.cublaslt;
  write_table(table, file);
  const std::string newer = refusal(file, read_text(file), read).value_or("");
  CHECK(newer.find(fmt::format("with cuBLASLt {}, and here are ", table.cublaslt)) !=
        std::string::npos);
  table = some_table();
  table.gpu = "Another\x1bGPU";
  write_table(table, file);
  const std::string other = refusal(file, read_text(file), read).value_or("");
  CHECK(other.find(": products of Another\\x1BGPU with cuBLASLt ") != std::string::npos);
}

TEST_CASE("an algorithm is taken for faster than those before it from 2 % on") {
  const auto place = [](std::vector<double> times) { return place_of_least(times); };
  CHECK(place({5}) == 0);
  CHECK(place({1.0, 0.99}) == 0);
  CHECK(place({1.0, 0.97}) == 1);
  CHECK(place({2.0, 1.01, 1.0, 3.0}) == 1);
}

TEST_CASE("the fastest algorithm of a product is one of those that compute it") {
  const std::unique_ptr<Device> device = make_cuda_device(0, cuda_target());
  for (const Product& product : {product_of(1, 40, 50, 60), product_of(3, 20, 30, 40),
                                 product_of(1, 40, 50, 60, DType::kBFloat16)}) {
    const Tuned tuned = fastest_algorithm(*device, product);
    CHECK(tuned.tried >= 1);
    CHECK(tuned.microseconds > 0);
    CHECK(tuned.microseconds <= tuned.before * 1.03);
  }
}

TEST_CASE("products are tuned once for all kernels that have them, and added to the file") {
  const TempDirectory directory;
  const CacheFolder folder(directory.path());
  const auto tune = [](const std::vector<KernelUse>& kernels, std::int64_t expected) {
    std::int64_t measured = 0;
    const TuningWatch watch{.measured = [&](const MeasuredProduct& product) {
      CHECK(product.number == ++measured);
      CHECK(product.of == expected);
    }};
    const Tuning tuning = tune_products(0, cuda_target(), kernels, watch);
    CHECK(tuning.measured == measured);
    CHECK(tuning.measured == expected);
    return tuning;
  };
  const KernelUse square = kernel_of(64, 64, 64), high = kernel_of(128, 64, 64);
  KernelUse other{"relu", square.nodes, true};
  const Tuning first = tune({square, other, square, kernel_of(2, 64, 64)}, 1);
  CHECK(first.known == 0);
  CHECK(first.table.count == 1);
  const Table table = read_table(gpu(), first.table.file);
  const Tuned& tuned = table.products.begin()->second;
  CHECK(first.step_after == doctest::Approx(2 * tuned.microseconds));
  CHECK(first.step_before == doctest::Approx(2 * tuned.before));
  // Operands that are aligned otherwise have other algorithms.
  const Tuning second = tune({square, high, kernel_of(64, 64, 64, 1)}, 2);
  CHECK(second.known == 1);
  CHECK(second.table.count == 3);
  CHECK(second.table.digest != first.table.digest);
  // A convolution of single pixels is that product of 64 pixels; others are none.
  const Tuning pixels = tune({convolution_of("convolution", 1, 1), high}, 0);
  CHECK(pixels.known == 2);
  CHECK(tune({convolution_of("convolution", 3, 1)}, 0).known == 0);
  const Tuning third = tune({high, square}, 0);
  CHECK(third.table.digest == second.table.digest);
  CHECK(third.table.digest == digest(read_table(gpu(), third.table.file)));
  const Tuning gradients = tune({convolution_of("convolution_backward_data", 1, 1),
                                 convolution_of("convolution_backward_filter", 1, 1)},
                                2);
  CHECK(gradients.table.count == 5);
}

TEST_CASE("a stack of products is tuned, and compared with its products one after the other") {
  const TempDirectory directory;
  const CacheFolder folder(directory.path());
  const auto stack_at = [](std::int64_t last) {
    KernelUse stack = kernel_of(64, 64, 64);
    for (const std::int64_t apart : {std::int64_t{4096}, last}) {
      stack.nodes.push_back(kernel_of(64, 64, 64, apart).nodes.front());
    }
    return stack;
  };
  const Tuning tuning = tune_products(0, cuda_target(), std::vector{stack_at(8192)});
  CHECK(tuning.measured == 2);
  const Table table = read_table(gpu(), tuning.table.file);
  REQUIRE(table.products.size() == 2);
  const Tuned *one = nullptr, *all = nullptr;
  for (const auto& [problem, tuned] : table.products) {
    CHECK((problem.stack == 1 || problem.stack == 3));
    (problem.stack == 1 ? one : all) = &tuned;
  }
  CHECK(all->in_turn == (3 * one->microseconds < all->microseconds));
  CHECK(!one->in_turn);
  CHECK(tuning.step_after == doctest::Approx(std::min(all->microseconds, 3 * one->microseconds)));
  // At other distances they are no stack.
  CHECK(tune_products(0, cuda_target(), std::vector{stack_at(12288)}).known == 1);
  Table other = table;
  for (auto& [problem, tuned] : other.products)
    tuned.in_turn = problem.stack == 3 && !tuned.in_turn;
  CHECK(digest(other) != digest(table));
}

TEST_CASE("a folder that takes no file of products is an error that names it") {
  const TempDirectory directory;
  write_text(directory.file("file"), "");
  const CacheFolder folder(directory.file("file") + "/under");
  CHECK_THROWS_WITH(tune_products(0, cuda_target(), {}),
                    doctest::Contains("name another folder with MESHWORK_CUDA_CACHE"));
}
