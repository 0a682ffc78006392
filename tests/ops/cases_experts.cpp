#include "ops/case_lists.h"

namespace meshwork {
namespace {

struct Sizes {
  Shape choices;  ///< samples, steps, choices of each
  std::int64_t experts, capacity, width;
};

/// Of experts that are full, of some that nobody chooses, of none; of more than one warp's steps.
const std::vector<Sizes> kSizes{
    {{2, 5, 2}, 3, 4, 3},  {{1, 7, 1}, 4, 2, 5},   {{3, 4, 3}, 5, 1, 2},    {{2, 3, 2}, 1, 9, 4},
    {{0, 3, 2}, 2, 2, 3},  {{2, 0, 1}, 2, 3, 2},   {{4, 6, 2}, 2, 3, 1},    {{2, 70, 2}, 19, 5, 8},
    {{1, 33, 1}, 8, 6, 0}, {{5, 2, 2}, 7, 1, 130}, {{1, 130, 3}, 3, 90, 2},
};

struct SparseSizes {
  Shape rows;
  std::int64_t experts, a, b;
  double most = 1;           ///< of what is chosen, a factor
  std::int64_t packed = -1;  ///< blocks of a row; -1: those of all experts
};

/// Of few rows and of many, of few weights and of many; of nothing.
const std::vector<SparseSizes> kSparseSizes{
    {{2, 3}, 4, 3, 5, 2},   {{5}, 2, 40, 33},     {{2, 40}, 5, 24, 7}, {{3, 2}, 1, 2, 1},
    {{0, 2}, 3, 2, 4},      {{4}, 3, 0, 2},       {{4}, 3, 2, 0},      {{2, 3}, 4, 3, 5, 2, 2},
    {{30}, 6, 7, 33, 1, 3}, {{5}, 4, 3, 2, 1, 4}, {{4}, 3, 2, 2, 1, 0}};

struct PackedSizes {
  Shape rows;
  std::int64_t experts, packed, units;
};

const std::vector<PackedSizes> kPackedSizes{{{3, 5}, 4, 2, 7}, {{40}, 9, 9, 1}, {{6}, 3, 1, 130},
                                            {{2}, 2, 0, 3},    {{0}, 3, 2, 2},  {{4}, 3, 2, 0}};

/// Each of the three tensors as the result, of kernels of either order.
void add_sparse_einsums(std::vector<OpCase>& cases) {
  for (const auto& [rows, experts, a, b, most, packed] : kSparseSizes) {
    const std::string of_rows = rows.size() == 1 ? "t" : "b t";
    const std::string chosen = of_rows + " e";
    Attrs attrs{{"chosen", chosen}, {"of_row", std::int64_t{1}}};
    if (packed >= 0) attrs.set("packed", packed);
    Shape blocks = rows;
    blocks.push_back(experts);
    const CaseInput some = integers(DType::kFloat32, blocks, 0, most);
    const auto with = [](Shape shape, std::int64_t extent) {
      shape.push_back(extent);
      return shape;
    };
    for (const bool is_turned : {false, true}) {
      const std::string names[] = {of_rows + " h", chosen + " m", is_turned ? "e m h" : "e h m"};
      Shape spread = blocks;
      if (packed >= 0) spread.back() = packed;
      const Shape shapes[] = {with(rows, a), with(spread, b),
                              is_turned ? Shape{experts, b, a} : Shape{experts, a, b}};
      for (std::size_t y = 0; y < 3; ++y) {
        const std::size_t x = (y + 1) % 3, w = (y + 2) % 3;
        Attrs own = attrs;
        own.set("equation", names[x] + ", " + names[w] + " -> " + names[y]);
        const bool is_packed = packed >= 0;
        cases.push_back(
            make_case(is_packed ? ops::kPackedEinsum : ops::kSparseEinsum,
                      {uniform(shapes[x]), uniform(shapes[w]), some}, own, float32(shapes[y]),
                      is_packed ? std::vector<std::size_t>{} : std::vector<std::size_t>{0, 1}));
      }
    }
  }
}

/// Of rows that choose more blocks than there are places, or fewer.
void add_moves(std::vector<OpCase>& cases) {
  for (const auto& [rows, experts, packed, units] : kPackedSizes) {
    const auto blocks = [&, of_rows = rows, width = units](std::int64_t count) {
      Shape shape = of_rows;
      shape.insert(shape.end(), {count, width});
      return shape;
    };
    Shape all = rows;
    all.push_back(experts);
    const CaseInput some = integers(DType::kFloat32, all, 0, 1);
    cases.push_back(make_case(ops::kPackChosen, {uniform(blocks(experts)), some},
                              {{"packed", packed}}, float32(blocks(packed))));
    cases.push_back(make_case(ops::kUnpackChosen, {uniform(blocks(packed)), some}, {},
                              float32(blocks(experts))));
  }
}

}  // namespace

std::vector<OpCase> expert_cases() {
  std::vector<OpCase> cases;
  for (const auto& [choices, experts, capacity, width] : kSizes) {
    const Attrs attrs{{"experts", experts}, {"capacity", capacity}};
    const TensorType slots{DType::kInt32, choices};
    const CaseInput chosen = integers(DType::kInt32, choices, -1, static_cast<double>(experts));
    cases.push_back(make_case(ops::kAssignSlots, {chosen}, attrs, slots));
    // No slot twice, and some that are none.
    const CaseInput taken{slots, CaseInput::Kind::kNumbers, -3, 0};
    const Shape rows{choices[0], choices[1], choices[2], width};
    std::vector<Shape> operands{rows};  // and one row for all choices of a position
    if (choices[2] > 1) operands.push_back({choices[0], choices[1], 1, width});
    const Shape experts_rows{experts, choices[0], capacity, width};
    for (const Shape& x : operands) {
      cases.push_back(
          make_case(ops::kDispatch, {uniform(x), taken}, attrs, float32(experts_rows), {0}));
    }
    cases.push_back(
        make_case(ops::kCombine, {uniform(experts_rows), taken}, {}, float32(rows), {0}));
  }
  add_sparse_einsums(cases);
  add_moves(cases);
  return cases;
}

}  // namespace meshwork
