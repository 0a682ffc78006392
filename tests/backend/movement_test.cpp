#include <doctest/doctest.h>

#include <numeric>

#include "kernel_runner.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr DType kAll[] = {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUInt8};

using Numbers = std::vector<std::int64_t>;

Shape permuted(const Shape& x, const Numbers& perm) {
  Shape y;
  for (const std::int64_t dim : perm) y.push_back(x[static_cast<std::size_t>(dim)]);
  return y;
}

}  // namespace

TEST_CASE("fast transpositions agree with naive ones") {
  struct Case {
    Shape x;
    Numbers perm;
  };
  for (const Case& c :
       {Case{{}, {}}, Case{{5}, {0}}, Case{{3, 4}, {1, 0}}, Case{{300, 257}, {1, 0}},
        Case{{1, 9}, {1, 0}}, Case{{0, 4}, {1, 0}}, Case{{2, 3, 4}, {2, 0, 1}},
        Case{{2, 30, 4, 16}, {0, 2, 1, 3}}, Case{{2, 30, 4, 16}, {3, 1, 2, 0}},
        Case{{8, 17, 33, 5}, {0, 3, 2, 1}}, Case{{2, 3, 4}, {0, 1, 2}}, Case{{70000, 2}, {1, 0}}}) {
    for (const DType dtype : kAll) {
      const Tensor x = some_tensor(dtype, c.x, 1);
      check_fast("transpose", {x}, {dtype, permuted(c.x, c.perm)}, {{"perm", c.perm}});
    }
  }
}

TEST_CASE("fast broadcasts agree with naive ones") {
  struct Case {
    Shape x, y;
  };
  for (const Case& c :
       {Case{{}, {}}, Case{{}, {5, 7}}, Case{{7}, {5, 7}}, Case{{5, 1}, {5, 7}},
        Case{{5, 1}, {3, 5, 7}}, Case{{2, 1, 3, 1}, {2, 4, 3, 5}}, Case{{1}, {0}},
        Case{{1, 3}, {0, 3}}, Case{{400, 1}, {400, 300}}, Case{{300}, {400, 300}}}) {
    for (const DType dtype : kAll) {
      check_fast("broadcast_to", {some_tensor(dtype, c.x, 2)}, {dtype, c.y}, {{"shape", c.y}});
    }
  }
}

TEST_CASE("fast slices and concatenations agree with naive ones") {
  for (const Shape& shape : {Shape{9}, Shape{9, 5}, Shape{5, 9, 4}, Shape{9, 0}, Shape{9, 9000}}) {
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
      for (const DType dtype : kAll) {
        const Tensor x = some_tensor(dtype, shape, 3);
        std::vector<Tensor> parts;
        for (const auto& [start, size] :
             {std::pair{std::int64_t{0}, extent / 3}, std::pair{extent / 3, std::int64_t{0}},
              std::pair{extent / 3, extent - extent / 3}}) {
          Shape part = shape;
          part[static_cast<std::size_t>(axis)] = size;
          const Attrs attrs{{"axis", axis}, {"start", start}, {"size", size}};
          check_fast("slice", {x}, {dtype, part}, attrs);
          parts.push_back(run(*make_cpu_backend(1), "slice", {x}, {dtype, part}, attrs));
        }
        CHECK(same(run(*make_cpu_backend(2), "concatenate", parts, x.type, {{"axis", axis}}), x));
        CHECK(same(run(*make_reference_backend(), "concatenate", parts, x.type, {{"axis", axis}}),
                   x));
      }
    }
  }
}

TEST_CASE("rows of blocks are put in order column by column, whatever their extents") {
  const std::vector<std::pair<Numbers, std::int64_t>> list{
      {{5, 5, 5, 5, 5, 5}, 3},
      {{5, 5, 2, 5, 5, 2, 4, 4, 1}, 3},
      {{0, 3, 7, 0}, 2},
      {{8, 4, 8, 4, 7, 3, 7, 3}, 2},
      {{1, 2, 3, 4}, 4},
      {{1, 2, 3, 4}, 1},
      {{640, 0, 640, 0, 320, 0}, 2},
      {{0, 0}, 2},
  };
  for (const auto& [counts, columns] : list) {
    const Attrs attrs{{"counts", counts}, {"columns", columns}};
    const Shape all{std::accumulate(counts.begin(), counts.end(), std::int64_t{0})};
    for (const DType dtype : kAll) {
      check_fast("transpose_blocks", {some_tensor(dtype, all, 5)}, {dtype, all}, attrs);
    }
  }
}

TEST_CASE("unpack undoes pack, for uneven and empty blocks") {
  for (const Shape& shape :
       {Shape{7}, Shape{7, 3}, Shape{2, 7, 3}, Shape{0, 7}, Shape{300, 7, 50}}) {
    for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(shape.size()); ++dim) {
      const std::int64_t extent = shape[static_cast<std::size_t>(dim)];
      const Numbers blocks{extent / 2, 0, extent - extent / 2 - extent / 3, extent / 3};
      REQUIRE(std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}) == extent);
      const Attrs attrs{{"dim", dim}, {"extents", blocks}};
      for (const DType dtype : kAll) {
        const Tensor x = some_tensor(dtype, shape, 4);
        const TensorType flat{dtype, {num_elements(shape)}};
        check_fast("pack", {x}, flat, attrs);
        const Tensor packed = run(*make_cpu_backend(1), "pack", {x}, flat, attrs);
        check_fast("unpack", {packed}, x.type, attrs);
        CHECK(same(run(*make_cpu_backend(1), "unpack", {packed}, x.type, attrs), x));
      }
    }
  }
}
