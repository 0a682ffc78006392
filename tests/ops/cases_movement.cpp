#include "ops/case_lists.h"

#include <numeric>

namespace meshwork {
namespace {

using Integers = std::vector<std::int64_t>;

void add_leaves(std::vector<OpCase>& cases) {
  const std::string float32_name = "float32";
  const std::vector<Shape> shapes{{}, {5}, {3, 4}, {2, 3, 2}, {0, 2}};
  for (const Shape& shape : shapes) {
    const auto add = [&](const OpDef& op, const Attrs& attrs) {
      Attrs all = attrs;
      all.set("shape", shape);
      cases.push_back(make_case(op, {}, all, float32(shape)));
    };
    add(ops::kInput, {{"name", std::string("x")}, {"dtype", float32_name}});
    add(ops::kSamples, {{"name", std::string("x")}, {"dtype", float32_name}});
    add(ops::kVariable, {{"path", std::string("d1/kernel")}, {"dtype", float32_name}});
    add(ops::kConstant, {{"value", 0.5}, {"dtype", float32_name}});
    for (const bool stepped : {false, true}) {
      const auto add_random = [&](const OpDef& op, const Attrs& attrs) {
        add(op, attrs);
        if (stepped) cases.back().inputs = {integers(DType::kInt64, {}, 3, 3)};
        if (stepped) cases.back().name += " with a step";
      };
      const Attrs normal{{"key", std::int64_t{7}}, {"mean", 1.0}, {"stddev", 0.5}};
      add_random(ops::kRandomUniform, {{"key", std::int64_t{-5}}, {"low", -1.0}, {"high", 3.0}});
      add_random(ops::kRandomNormal, normal);
      add_random(ops::kTruncatedNormal, normal);
    }
  }
  cases.push_back(make_case(
      ops::kConstant, {}, {{"value", 7.0}, {"dtype", std::string("int32")}, {"shape", Shape{2, 2}}},
      {DType::kInt32, {2, 2}}));
  cases.push_back(make_case(ops::kConstant, {},
                            {{"value", 1.0}, {"dtype", std::string("int64")}, {"shape", Shape{}}},
                            {DType::kInt64, {}}));
}

void add_matrices(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{4, 4}, Shape{3, 5}, Shape{5, 2}, Shape{0, 3}}) {
    cases.push_back(
        make_case(ops::kIdentityMatrix, {}, {{"gain", 2.0}, {"shape", shape}}, float32(shape)));
  }
  for (const Shape& shape : {Shape{4, 4}, Shape{3, 5}, Shape{5, 2}, Shape{2, 3, 4}}) {
    const Attrs attrs{{"key", std::int64_t{7}}, {"gain", 1.5}, {"shape", shape}};
    cases.push_back(make_case(ops::kOrthogonal, {}, attrs, float32(shape)));
  }
  const std::vector<std::pair<Shape, std::int64_t>> lines{
      {{6}, 0}, {{3, 4}, 0}, {{3, 4}, 1}, {{2, 3, 4}, 1}, {{0, 2}, 0}};
  for (const auto& [shape, dim] : lines) {
    for (const DType dtype : {DType::kFloat32, DType::kInt32}) {
      cases.push_back(
          make_case(ops::kIota, {},
                    {{"dim", dim}, {"dtype", std::string(to_string(dtype))}, {"shape", shape}},
                    {dtype, shape}));
    }
  }
}

/// Stored numbers of some types, whole and in rows.
void add_conversions(std::vector<OpCase>& cases) {
  const auto conversion = [](const char* dtype, double scale, double offset) {
    return Attrs{{"dtype", std::string(dtype)}, {"scale", scale}, {"offset", offset}};
  };
  Attrs per_channel = conversion("float32", 0.1, -1.0);
  per_channel.set("mean", std::vector<double>{0.5, -0.25, 2.0});
  per_channel.set("std", std::vector<double>{2.0, 0.5, 3.0});
  Attrs for_all = conversion("float32", 1.0, 0.0);
  for_all.set("mean", std::vector<double>{1.5});
  for_all.set("std", std::vector<double>{0.3});
  Attrs far = conversion("float32", 1.0, 0.5);  // from what float32 tells apart
  far.set("mean", std::vector<double>{100'000'004.0});
  far.set("std", std::vector<double>{3.0});
  const std::vector<Attrs> reals{conversion("float32", 1 / 255.0, 0.0), per_channel, for_all};
  const std::vector<Shape> shapes{{5}, {7, 3}, {4, 2, 3}, {6, 5, 4, 3}, {0, 3}, {3, 0}};
  for (const Shape& shape : shapes) {
    const CaseInput bytes = integers(DType::kUInt8, shape, 0, 255);
    const std::int64_t last = shape[0] == 0 ? 0 : shape[0] - 1;
    const auto add = [&](const CaseInput& stored, const Attrs& attrs, DType dtype) {
      if (attrs.find("mean") != nullptr && attrs.reals("mean").size() > 1 && shape.back() != 3)
        return;
      Shape taken = shape;
      taken[0] = 9;
      cases.push_back(make_case(ops::kConvert, {stored}, attrs, {dtype, shape}));
      // A row that is not there, too.
      cases.push_back(make_case(ops::kTakeRows,
                                {stored, integers(DType::kInt32, {9}, -1, last + 1)}, attrs,
                                {dtype, taken}));
    };
    for (const Attrs& attrs : reals) add(bytes, attrs, DType::kFloat32);
    add(integers(DType::kInt64, shape, -9, 9), per_channel, DType::kFloat32);
    add(integers(DType::kInt32, shape, 100'000'000, 100'000'009), far, DType::kFloat32);
    add(uniform(shape), conversion("float32", 1.0, 0.0), DType::kFloat32);
    add(bytes, conversion("int32", 1.0, -1.0), DType::kInt32);
    add(integers(DType::kInt64, shape, -9, 9), conversion("int32", 1.0, 0.0), DType::kInt32);
    add(integers(DType::kFloat32, shape, -9, 9), conversion("int32", 0.5, 0.0), DType::kInt32);
  }
}

void add_reshapes(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> list{
      {{}, {1, 1}},           {{1}, {}},
      {{6}, {2, 3}},          {{2, 3}, {6}},
      {{4, 2, 3}, {4, 6}},    {{2, 6}, {4, 3}},
      {{2, 3}, {3, 2}},       {{4, 1, 3}, {4, 3}},
      {{4, 3}, {1, 4, 1, 3}}, {{2, 2, 3, 5}, {4, 15}},
      {{0, 3}, {3, 0}},       {{0, 3, 4}, {0, 12}},
      {{5, 2, 3}, {5, 3, 2}}, {{2, 0}, {0}},
  };
  for (const auto& [from, to] : list) {
    cases.push_back(make_case(ops::kReshape, {uniform(from)}, {{"shape", to}}, float32(to), {0}));
  }
  cases.push_back(make_case(ops::kReshape, {integers(DType::kInt32, {4, 1}, 0, 9)},
                            {{"shape", Shape{4}}}, {DType::kInt32, {4}}));
}

void add_transposes(std::vector<OpCase>& cases) {
  struct Permutation {
    Shape from;
    Integers perm;
    Shape to;
  };
  const std::vector<Permutation> list{
      {{}, {}, {}},
      {{5}, {0}, {5}},
      {{3, 4}, {1, 0}, {4, 3}},
      {{2, 3, 4}, {2, 0, 1}, {4, 2, 3}},
      {{2, 3, 4}, {0, 2, 1}, {2, 4, 3}},
      {{2, 3, 4, 5}, {0, 2, 1, 3}, {2, 4, 3, 5}},
      {{0, 3}, {1, 0}, {3, 0}},
      {{37, 29}, {1, 0}, {29, 37}},
  };
  for (const Permutation& p : list) {
    cases.push_back(
        make_case(ops::kTranspose, {uniform(p.from)}, {{"perm", p.perm}}, float32(p.to), {0}));
  }
}

void add_broadcasts(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> list{
      {{}, {3}},        {{4}, {3, 4}}, {{3, 1}, {3, 4}}, {{1}, {2, 3}}, {{2, 1, 3}, {5, 2, 4, 3}},
      {{1, 3}, {0, 3}},
  };
  for (const auto& [from, to] : list) {
    cases.push_back(
        make_case(ops::kBroadcastTo, {uniform(from)}, {{"shape", to}}, float32(to), {0}));
  }
}

void add_slices(std::vector<OpCase>& cases) {
  struct Slice {
    Shape from;
    std::int64_t axis, start, size;
    Shape to;
  };
  const std::vector<Slice> slices{
      {{7}, 0, 2, 3, {3}},
      {{7}, 0, 0, 7, {7}},
      {{3, 5}, 1, 4, 1, {3, 1}},
      {{4, 3}, 0, 1, 3, {3, 3}},
      {{2, 5, 3}, 1, 0, 2, {2, 2, 3}},
      {{4}, 0, 4, 0, {0}},
      {{2, 3, 2, 3}, 2, 1, 1, {2, 3, 1, 3}},
  };
  for (const Slice& s : slices) {
    cases.push_back(make_case(ops::kSlice, {uniform(s.from)},
                              {{"axis", s.axis}, {"start", s.start}, {"size", s.size}},
                              float32(s.to), {0}));
  }
}

void add_concatenations(std::vector<OpCase>& cases) {
  const auto add = [&](const std::vector<Shape>& shapes, std::int64_t axis, Shape result) {
    std::vector<CaseInput> inputs;
    std::vector<std::size_t> all;
    for (const Shape& shape : shapes) {
      all.push_back(inputs.size());
      inputs.push_back(uniform(shape));
    }
    cases.push_back(
        make_case(ops::kConcatenate, inputs, {{"axis", axis}}, float32(std::move(result)), all));
  };
  add({{3}}, 0, {3});
  add({{3}, {4}}, 0, {7});
  add({{2, 3}, {2, 1}, {2, 4}}, 1, {2, 8});
  add({{2, 3}, {4, 3}}, 0, {6, 3});
  add({{2, 3, 2}, {2, 0, 2}, {2, 1, 2}}, 1, {2, 4, 2});
}

void add_indexed(std::vector<OpCase>& cases) {
  // Indices go past both ends.
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{3, 4}, Shape{0}, Shape{2, 3, 2}}) {
    Shape deep = shape;
    deep.push_back(5);
    const CaseInput index = integers(DType::kInt32, shape, -1, 5);
    cases.push_back(make_case(ops::kOneHot, {index}, {{"depth", std::int64_t{5}}}, float32(deep)));
    cases.push_back(
        make_case(ops::kTakeAlongAxis, {uniform(deep), index}, {}, float32(shape), {0}));
    cases.push_back(make_case(ops::kCrossentropy, {uniform(deep), index}, {}, float32(shape), {0}));
    Shape vectors = shape;
    vectors.push_back(7);
    const std::int64_t rows = 5;
    cases.push_back(
        make_case(ops::kEmbedding, {uniform({rows, 7}), index}, {}, float32(vectors), {0}));
    cases.push_back(make_case(ops::kEmbeddingGradient, {uniform(vectors), index}, {{"rows", rows}},
                              float32({rows, 7})));
    Shape column = shape;
    column.push_back(1);
    cases.push_back(make_case(ops::kCrossentropyGradient, {uniform(deep), index, uniform(column)},
                              {}, float32(deep)));
    cases.push_back(make_case(ops::kCrossentropyGradient, {uniform(deep), index}, {{"d", -0.25}},
                              float32(deep)));
    cases.push_back(make_case(ops::kCrossentropyGradient, {uniform(deep), index, uniform(column)},
                              {{"dtype", std::string("bfloat16")}}, {DType::kBFloat16, deep}));
    cases.back().tolerance = 1.0 / 128;
  }
}

void add_written_rows(std::vector<OpCase>& cases) {
  struct Written {
    Shape x;
    std::int64_t rows;
    std::int64_t least, most;  // where they begin
  };
  const std::vector<Written> list{
      {{3, 7, 2, 2}, 3, 0, 4}, {{2, 5, 3}, 1, 0, 4},    {{4, 6}, 2, -3, 8},
      {{2, 4, 3, 2}, 4, 0, 0}, {{3, 4, 2}, 4, -2, 3},   {{2, 3, 1, 2}, 5, -2, 1},
      {{0, 3, 2}, 2, 0, 1},    {{2, 0, 2}, 1, 0, 0},    {{2, 3, 2}, 0, 0, 2},
      {{2, 70, 40}, 1, 0, 69}, {{2, 9, 130}, 8, -1, 2},
  };
  for (const auto& [shape, rows, least, most] : list) {
    Shape part = shape;
    part[1] = rows;
    const CaseInput start =
        integers(DType::kInt32, {shape[0]}, static_cast<double>(least), static_cast<double>(most));
    cases.push_back(
        make_case(ops::kWriteRows, {uniform(shape), uniform(part), start}, {}, float32(shape)));
  }
}

void add_local(std::vector<OpCase>& cases) {
  const auto add = [&](const OpDef& op, const Shape& x, CollectiveArgs args, const Shape& y) {
    args.axes = {0};
    args.members = {0, 1, 2};
    cases.push_back(make_case(op, {uniform(x)}, {}, float32(y)));
    cases.back().collective = std::move(args);
  };
  add(ops::kAllGather, {3}, {.counts = {3, 2, 2}}, {7});
  add(ops::kAllReduce, {3, 2}, {}, {3, 2});
  add(ops::kReduceScatter, {7}, {.own = 1, .counts = {3, 2, 2}}, {2});
  add(ops::kAllToAll, {6}, {.counts = {4, 0, 2}, .recv_counts = {4, 3, 3}}, {10});
  struct Blocks {
    Shape shape;
    std::int64_t dim;
    Integers extents;
  };
  const std::vector<Blocks> list{
      {{7}, 0, {3, 2, 2}},       {{2, 3}, 1, {2, 1}},    {{4, 3}, 0, {2, 2}},
      {{2, 5, 3}, 1, {2, 0, 3}}, {{3, 2, 5}, 2, {1, 4}}, {{2, 0}, 1, {0, 0}},
  };
  for (const Blocks& b : list) {
    Attrs attrs{{"dim", b.dim}, {"extents", b.extents}};
    const Shape flat{num_elements(b.shape)};
    cases.push_back(make_case(ops::kPack, {uniform(b.shape)}, attrs, float32(flat)));
    attrs.set("shape", b.shape);
    cases.push_back(make_case(ops::kUnpack, {uniform(flat)}, attrs, float32(b.shape)));
  }
  const auto add_transposed = [&](const Integers& counts, std::int64_t columns) {
    const Shape all{std::accumulate(counts.begin(), counts.end(), std::int64_t{0})};
    cases.push_back(make_case(ops::kTransposeBlocks, {uniform(all)},
                              {{"counts", counts}, {"columns", columns}}, float32(all)));
  };
  add_transposed({2, 2, 5, 2, 2, 5, 1, 1, 4}, 3);
  add_transposed({3, 1, 3, 0}, 2);
  add_transposed({0, 0}, 1);
}

void add_halos(std::vector<OpCase>& cases) {
  struct Pieces {
    Shape shape;
    std::int64_t dim;
    std::vector<std::int64_t> starts, extents;
  };
  const std::vector<Pieces> packs{
      {{7}, 0, {0, 5}, {2, 2}},
      {{2, 5, 3}, 1, {0, 2, 0}, {1, 3, 0}},
      {{2, 4}, 1, {1, 0, 2}, {2, 4, 1}},
      {{3, 2}, 0, {0, 0}, {0, 0}},
      {{0, 3}, 1, {1}, {2}},
  };
  for (const Pieces& p : packs) {
    Shape piece = p.shape;
    piece[static_cast<std::size_t>(p.dim)] =
        std::accumulate(p.extents.begin(), p.extents.end(), std::int64_t{0});
    cases.push_back(make_case(ops::kHaloPack, {uniform(p.shape)},
                              {{"dim", p.dim}, {"starts", p.starts}, {"extents", p.extents}},
                              float32({num_elements(piece)})));
  }
  struct Joined {
    Shape shape;
    std::int64_t dim, start, own;
    std::vector<std::int64_t> extents;
  };
  const std::vector<Joined> joins{
      {{5}, 0, 0, 1, {2, 5, 1}}, {{2, 4, 3}, 1, 1, 0, {3, 2}}, {{2, 3}, 1, 2, 2, {1, 0, 1, 4}},
      {{3, 2}, 0, 0, 1, {2, 0}}, {{2, 0, 2}, 1, 0, 0, {0, 3}}, {{4, 2}, 0, 1, 0, {2}},
  };
  for (const Joined& j : joins) {
    Shape result = j.shape, rest = j.shape;
    const auto d = static_cast<std::size_t>(j.dim);
    result[d] = std::accumulate(j.extents.begin(), j.extents.end(), std::int64_t{0});
    rest[d] = result[d] - j.extents[static_cast<std::size_t>(j.own)];
    cases.push_back(
        make_case(ops::kHaloUnpack, {uniform(j.shape), uniform({num_elements(rest)})},
                  {{"dim", j.dim}, {"start", j.start}, {"extents", j.extents}, {"own", j.own}},
                  float32(result)));
  }
  struct Added {
    Shape shape;
    std::int64_t dim, start, rows;
  };
  for (const Added& a : std::vector<Added>{{{5}, 0, 0, 2},
                                           {{2, 4, 3}, 1, 3, 1},
                                           {{3, 2}, 1, 0, 2},
                                           {{2, 3}, 0, 1, 0},
                                           {{0, 4}, 1, 1, 2}}) {
    Shape part = a.shape;
    part[static_cast<std::size_t>(a.dim)] = a.rows;
    cases.push_back(make_case(ops::kAddPart, {uniform(a.shape), uniform(part)},
                              {{"dim", a.dim}, {"start", a.start}}, float32(a.shape)));
  }
}

}  // namespace

std::vector<OpCase> movement_cases() {
  std::vector<OpCase> cases;
  add_leaves(cases);
  add_matrices(cases);
  add_conversions(cases);
  add_reshapes(cases);
  add_transposes(cases);
  add_broadcasts(cases);
  add_slices(cases);
  add_concatenations(cases);
  add_indexed(cases);
  add_written_rows(cases);
  add_local(cases);
  add_halos(cases);
  return cases;
}

}  // namespace meshwork
