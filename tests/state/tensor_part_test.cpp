#include "state/tensor_part.h"

#include <doctest/doctest.h>

#include "base/check.h"
#include "state/shards.h"

namespace meshwork {
namespace {

struct Cut {
  Shape global;
  Shape parts;
  std::size_t runs;  ///< of block 0
};

TEST_CASE("every element of a part is in one run, at its index in the global tensor") {
  for (const Cut& c :
       {Cut{{}, {}, 1}, Cut{{7}, {3}, 1}, Cut{{7}, {1}, 1}, Cut{{10, 4}, {4, 1}, 1},
        Cut{{10, 4}, {1, 4}, 10}, Cut{{10, 4}, {2, 2}, 5}, Cut{{3, 4, 5}, {1, 2, 1}, 3},
        Cut{{3, 4, 5}, {1, 1, 2}, 12}, Cut{{2, 3, 4, 5}, {2, 1, 2, 1}, 3},
        Cut{{1, 6, 1}, {1, 3, 1}, 1}, Cut{{6, 1, 1}, {1, 1, 1}, 1}}) {
    const std::int64_t blocks = num_elements(c.parts);
    CHECK(runs_of(test::shard_of(c.global, c.parts, 0).region,
                  test::shard_of(c.global, c.parts, 0).shape)
              .size() == c.runs);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const test::Shard shard = test::shard_of(c.global, c.parts, block);
      CAPTURE(to_string(c.global));
      CAPTURE(to_string(shard.shape));
      std::int64_t next = 0;
      for (const Run& run : runs_of(shard.region, shard.shape)) {
        CHECK(run.local == next);
        for (std::int64_t i = 0; i < run.count; ++i) {
          CHECK(run.global + i == test::global_index(shard, run.local + i));
        }
        next += run.count;
      }
      CHECK(next == num_elements(shard.shape));
    }
  }
}

TEST_CASE("an empty part has no runs") {
  CHECK(runs_of({{0}, {0}}, {0}).empty());
  CHECK(runs_of({{2, 3}, {2, 0}}, {0, 3}).empty());
  CHECK(runs_of({{2, 3}, {0, 3}}, {2, 0}).empty());
  CHECK(runs_of({{2, 0, 3}, {0, 0, 0}}, {2, 0, 3}).empty());
}

TEST_CASE("a part outside its tensor breaks an invariant") {
  const GlobalTensor tensor{"w", DType::kFloat32, {4, 6}};
  check_part(tensor, {{4, 6}, {2, 0}}, {2, 6});
  CHECK_THROWS_AS(check_part(tensor, {{4, 6}, {3, 0}}, {2, 6}), CheckFailure);
  CHECK_THROWS_AS(check_part(tensor, {{4, 6}, {-1, 0}}, {2, 6}), CheckFailure);
  CHECK_THROWS_AS(check_part(tensor, {{4, 7}, {0, 0}}, {4, 6}), CheckFailure);
  CHECK_THROWS_AS(check_part(tensor, {{4, 6}, {0, 0}}, {4}), CheckFailure);
}

TEST_CASE("path order; a path that comes twice breaks an invariant") {
  const std::vector<GlobalTensor> tensors{{"d2/kernel", DType::kFloat32, {}},
                                          {"d1/kernel", DType::kFloat32, {}},
                                          {"d1/bias", DType::kFloat32, {}}};
  CHECK(in_path_order(tensors) == std::vector<std::size_t>{2, 1, 0});
  CHECK(in_path_order({}).empty());
  CHECK_THROWS_AS(in_path_order({tensors[0], tensors[0]}), CheckFailure);
}

}  // namespace
}  // namespace meshwork
