#include "state/digest.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>

#include "base/check.h"
#include "comm/thread.h"
#include "state/shards.h"

namespace meshwork {
namespace {

struct Mesh {
  std::int64_t rows;
  std::int64_t columns;
};

struct Model {
  std::vector<GlobalTensor> tensors{{"d1/kernel", DType::kFloat32, {10, 6}},
                                    {"d1/bias", DType::kFloat32, {6}},
                                    {"iteration", DType::kInt64, {}},
                                    {"empty", DType::kFloat32, {0, 3}},
                                    {"image", DType::kUInt8, {3, 5}}};
  std::vector<float> kernel = std::vector<float>(60);
  std::vector<float> bias = {0.5F, -0.0F, 1e-40F, 3.0F, -7.25F, 1e30F};
  std::vector<std::int64_t> iteration = {1234567890123};
  std::vector<std::uint8_t> image = std::vector<std::uint8_t>(15);

  Model() {
    std::iota(kernel.begin(), kernel.end(), -30.0F);
    std::iota(image.begin(), image.end(), std::uint8_t{241});
  }
};

/// Of the model with its kernel cut into rows x columns, the bias into columns; the rest is
/// replicated and owned by device 0.
std::uint64_t digest_on_mesh(const Model& model, std::int64_t rows, std::int64_t columns) {
  std::mutex mutex;
  std::set<std::uint64_t> results;
  run_devices(static_cast<int>(rows * columns), [&](World& world) {
    const int device = world.hosts->rank();
    const std::int64_t column = device % columns;
    const test::Shard kernel = test::shard_of({10, 6}, {rows, columns}, device);
    const test::Shard bias = test::shard_of({6}, {columns}, column);
    const std::vector<float> kernel_part = test::cut(model.kernel, kernel);
    const std::vector<float> bias_part = test::cut(model.bias, bias);
    const std::vector<float> nothing;
    const std::vector<TensorPart> parts{
        test::part_of(0, kernel, kernel_part), test::part_of(1, bias, bias_part, device < columns),
        test::part_of(2, test::Shard{{{}, {}}, {}}, model.iteration, device == 0),
        test::part_of(3, test::Shard{{{0, 3}, {0, 0}}, {0, 3}}, nothing, device == 0),
        test::part_of(4, test::Shard{{{3, 5}, {0, 0}}, {3, 5}}, model.image, device == 0)};
    const std::uint64_t result = digest(model.tensors, parts, *world.hosts);
    const std::lock_guard lock(mutex);
    results.insert(result);
  });
  CHECK(results.size() == 1);
  return *results.begin();
}

TEST_CASE("the digest is the same on every mesh and every machine") {
  const Model model;
  const std::uint64_t alone = digest_on_mesh(model, 1, 1);
  CHECK(alone == 9673937773613441529U);  // from a second implementation, in Python
  for (const Mesh& mesh :
       {Mesh{2, 1}, Mesh{1, 2}, Mesh{2, 2}, Mesh{3, 1}, Mesh{1, 4}, Mesh{4, 2}}) {
    CAPTURE(mesh.rows);
    CAPTURE(mesh.columns);
    CHECK(digest_on_mesh(model, mesh.rows, mesh.columns) == alone);
  }
}

TEST_CASE("everything that differs changes the digest") {
  const Model model;
  std::set<std::uint64_t> seen{digest_on_mesh(model, 1, 1)};
  const auto differs = [&](auto change) {
    Model other;
    change(other);
    return seen.insert(digest_on_mesh(other, 1, 1)).second;
  };
  CHECK(differs([](Model& m) { m.bias[1] = 0.0F; }));  // was -0
  CHECK(differs([](Model& m) { m.bias[0] = std::nextafter(0.5F, 1.0F); }));
  CHECK(differs([](Model& m) { std::swap(m.bias[0], m.bias[3]); }));
  CHECK(differs([](Model& m) { std::swap(m.kernel[0], m.kernel[59]); }));
  CHECK(differs(
      [](Model& m) { std::rotate(m.kernel.begin(), m.kernel.begin() + 1, m.kernel.end()); }));
  CHECK(differs([](Model& m) { m.iteration[0] += std::int64_t{1} << 40; }));
  CHECK(differs([](Model& m) { m.image[14] ^= 1; }));
  CHECK(differs([](Model& m) { m.tensors[0].path = "d2/kernel"; }));
  CHECK(differs([](Model& m) { m.tensors[3].path = "d1/empty"; }));
  CHECK(differs([](Model& m) { m.tensors.at(1).dtype = DType::kInt32; }));
  for (const std::uint32_t bits : {0x7FC00000U, 0x7FC00001U, 0xFFC00000U}) {
    CHECK(differs([&](Model& m) { std::memcpy(&m.bias[2], &bits, sizeof bits); }));
  }
}

TEST_CASE("the shape counts, the order of the list does not") {
  run_devices(1, [](World& world) {
    const std::vector<float> a{1, 2, 3, 4, 5, 6};
    const std::vector<float> b{7};
    const auto whole = [](std::size_t tensor, const Shape& shape,
                          const std::vector<float>& values) {
      return test::part_of(tensor, test::Shard{whole_region(shape), shape}, values);
    };
    const GlobalTensor flat{"a", DType::kFloat32, {6}};
    const GlobalTensor square{"a", DType::kFloat32, {2, 3}};
    const GlobalTensor other{"b", DType::kFloat32, {}};
    const auto one = digest({flat, other}, {whole(0, {6}, a), whole(1, {}, b)}, *world.hosts);
    CHECK(digest({other, flat}, {whole(1, {6}, a), whole(0, {}, b)}, *world.hosts) == one);
    CHECK(digest({square, other}, {whole(0, {2, 3}, a), whole(1, {}, b)}, *world.hosts) != one);
    CHECK(digest({}, {}, *world.hosts) == digest({}, {}, *world.hosts));
    CHECK_THROWS_AS(digest({flat, flat}, {}, *world.hosts), CheckFailure);
  });
}

TEST_CASE("sums do not collide for small values at small indices") {
  run_devices(1, [](World& world) {
    std::set<std::uint64_t> seen;
    const Shape shape{3};
    for (std::int32_t i = 0; i < 16 * 16 * 16; ++i) {
      const std::vector<std::int32_t> values{i % 16, i / 16 % 16, i / 256};
      seen.insert(digest({{"a", DType::kInt32, shape}},
                         {test::part_of(0, test::Shard{whole_region(shape), shape}, values)},
                         *world.hosts));
    }
    CHECK(seen.size() == 4096);
  });
}

}  // namespace
}  // namespace meshwork
