// f(tile with its halo) -> f(own part of the tile) + f(each piece of the halo), where f sums what
// the parts give (a convolution or one of its gradients). The own part is computed while the halo
// is under way, and no tile is put together. Only the results that read a piece are computed of it.
#include <algorithm>
#include <optional>
#include <vector>

#include "graph/dim_rule.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// What other devices have of a tile: a part of the operand `pieces`.
struct Piece {
  Interval place;          ///< along the dimension, in the global tensor
  std::int64_t begin = 0;  ///< elements into `pieces`
};

class Splitter {
 public:
  explicit Splitter(Graph& program) : program_(program), readers_(program), insertions_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (readers_.are_nodes(id) && is_tile(id)) split(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  const Region& region(ValueId id) const { return program_.regions[id]; }

  /// A tile with its halo, of which only sums over its parts are computed.
  bool is_tile(ValueId id) const {
    if (node(id).op != &ops::kHaloUnpack || node(id).type.dtype != DType::kFloat32) return false;
    return std::ranges::all_of(readers_.nodes(id), [&](ValueId reader) {
      const Node& by = node(reader);
      return by.op->sums_parts && by.inputs[0] == id && by.inputs[1] != id &&
             by.type.dtype == DType::kFloat32;
    });
  }

  void split(ValueId tile) {
    // One piece at least, if an empty one: every device takes part in the exchange.
    const std::vector<Piece> pieces = pieces_of(tile);
    for (const ValueId reader : readers_.nodes(tile)) {
      ValueId sum = insertions_.add(reader, own_part(reader, tile), region(reader));
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        Node total = with_piece(reader, tile, pieces[i], sum);
        if (i + 1 < pieces.size()) {
          sum = insertions_.add(reader, total, region(reader));
        } else {
          program_.nodes[reader] = std::move(total);
        }
      }
    }
  }

  std::vector<Piece> pieces_of(ValueId tile) const {
    const Node& unpack = node(tile);
    const auto dim = static_cast<std::size_t>(unpack.attrs.integer("dim"));
    const auto& extents = unpack.attrs.integers("extents");
    Shape row = unpack.type.shape;
    row[dim] = 1;
    std::vector<Piece> pieces;
    std::int64_t begin = region(tile).offset[dim], taken = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const Interval place{begin, begin + extents[i]};
      begin = place.end;
      if (static_cast<std::int64_t>(i) == unpack.attrs.integer("own") || extents[i] == 0) continue;
      pieces.push_back({place, taken});
      taken += extents[i] * num_elements(row);
    }
    if (pieces.empty()) pieces.push_back({{begin, begin}, 0});
    return pieces;
  }

  Node own_part(ValueId reader, ValueId tile) const {
    Node own = node(reader);
    own.inputs[0] = node(tile).inputs[0];
    return own;
  }

  /// Of whole tensors: parts of channels are no whole groups.
  DimRule global_rule(ValueId id) const {
    const auto inputs = global_input_types(program_, node(id));
    const OpArgs args{
        .inputs = inputs, .attrs = node(id).attrs, .output = program_.global_type(id)};
    return parse_rule(node(id).op->rule(args), inputs, args.output);
  }

  /// The value whose rows along dimension `dim` of the tile each read a window of it: the result,
  /// or the operand over which it is summed.
  ValueId rows_of(ValueId reader, std::size_t dim) const {
    const DimRule rule = global_rule(reader);
    const int factor = DimRule::major_factor(rule.inputs[0], dim);
    return DimRule::contains(rule.output, factor) ? reader : node(reader).inputs[1];
  }

  /// The rows that read a piece, as rows of what the device has of them.
  Interval rows_that_read(ValueId reader, ValueId tile, std::size_t dim, Interval piece) const {
    const std::vector<TensorType> inputs = input_types(program_, node(reader));
    const Reach reach = node(reader).op->reach(
        {.inputs = inputs, .attrs = node(reader).attrs, .output = node(reader).type}, 0, dim);
    const ValueId rows = rows_of(reader, dim);
    const std::int64_t first = region(rows).offset[dim];
    std::optional<Interval> found;
    for (std::int64_t row = 0; row < program_.type(rows).shape[dim]; ++row) {
      const Interval read = reach.of({first + row, first + row + 1}, region(tile).global[dim]);
      if (intersection(read, piece).size() == 0) continue;
      found = {found ? found->begin : row, row + 1};
    }
    return found.value_or(Interval{});
  }

  /// `sum` with what the results read of a piece.
  Node with_piece(ValueId reader, ValueId tile, const Piece& piece, ValueId sum) {
    const auto dim = static_cast<std::size_t>(node(tile).attrs.integer("dim"));
    const Interval rows = rows_that_read(reader, tile, dim, piece.place);
    const ValueId of_rows = rows_of(reader, dim);
    Node of_piece = node(reader);
    of_piece.inputs[0] = piece_value(reader, tile, piece);
    Region place = region(reader);
    Node total = node(reader);
    if (of_rows == reader) {
      of_piece.type.shape[dim] = rows.size();
      place.offset[dim] += rows.begin;
      total.op = &ops::kAddPart;
      total.attrs = {{"dim", static_cast<std::int64_t>(dim)}, {"start", rows.begin}};
    } else {
      of_piece.inputs[1] = taken_rows(reader, of_rows, dim, rows);
      total.op = &ops::kAdd;
      total.attrs = {};
    }
    total.inputs = {sum, insertions_.add(reader, of_piece, place)};
    return total;
  }

  ValueId piece_value(ValueId reader, ValueId tile, const Piece& piece) {
    const auto dim = static_cast<std::size_t>(node(tile).attrs.integer("dim"));
    Shape shape = node(tile).type.shape;
    shape[dim] = piece.place.size();
    Region place = region(tile);
    place.offset[dim] = piece.place.begin;
    const std::int64_t elements = num_elements(shape);
    ValueId flat = node(tile).inputs[1];
    if (elements != num_elements(program_.type(flat).shape)) {
      const Interval mine{piece.begin, piece.begin + elements};
      flat = slice(reader, flat, 0, mine, whole_region({elements}));
    }
    return insertions_.add(reader, ops::kReshape, {flat}, {{"shape", shape}}, shape, place);
  }

  ValueId taken_rows(ValueId reader, ValueId from, std::size_t dim, Interval rows) {
    Region place = region(from);
    place.offset[dim] += rows.begin;
    return slice(reader, from, dim, rows, place);
  }

  ValueId slice(ValueId reader, ValueId from, std::size_t dim, Interval part,
                const Region& region) {
    Shape shape = program_.type(from).shape;
    shape[dim] = part.size();
    const Attrs attrs{
        {"axis", static_cast<std::int64_t>(dim)}, {"start", part.begin}, {"size", part.size()}};
    return insertions_.add(reader, ops::kSlice, {from}, attrs, shape, region);
  }

  Graph& program_;
  Readers readers_;
  Insertions insertions_;
};

void run(Graph& program, const Target& /*target*/) { Splitter(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kOverlapHalo{.name = "overlap_halo",
                              .run = run,
                              .makes = {&ops::kAdd, &ops::kAddPart, &ops::kReshape, &ops::kSlice}};
}  // namespace rewriting

}  // namespace meshwork
