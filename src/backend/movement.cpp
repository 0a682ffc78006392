#include "backend/movement.h"

#include <numeric>

#include "backend/views.h"

namespace meshwork::movement {
namespace {

std::vector<CopyDim> copy_dims(const Shape& extents, const Shape& from, const Shape& to) {
  std::vector<CopyDim> dims;
  for (std::size_t d = 0; d < extents.size(); ++d) dims.push_back({extents[d], from[d], to[d]});
  return dims;
}

std::byte* at(const TensorView& view, std::int64_t element) {
  return view.data + element * static_cast<std::int64_t>(size_of(view.type.dtype));
}

/// The operand from element `start` on to the whole result, along strides of the operand.
std::vector<Copy> copy_whole(const KernelArgs& args, const Shape& from, std::int64_t start = 0) {
  const Shape& shape = args.output.type.shape;
  return {{copy_dims(shape, from, row_major_strides(shape)), at(args.inputs[0], start),
           args.output.data}};
}

/// Between the tensor `whole` and its blocks along `dim` in `packed`, each dense.
std::vector<Copy> copy_blocks(const KernelArgs& args, const TensorView& whole,
                              const TensorView& packed, bool packs) {
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const Shape strides = row_major_strides(whole.type.shape);
  Shape block = whole.type.shape;
  std::int64_t start = 0;
  std::int64_t place = 0;
  std::vector<Copy> copies;
  for (const std::int64_t extent : args.attrs.integers("extents")) {
    block[dim] = extent;
    const Shape dense = row_major_strides(block);
    std::byte* part = at(whole, start * strides[dim]);
    std::byte* packed_part = at(packed, place);
    copies.push_back(packs ? Copy{copy_dims(block, strides, dense), part, packed_part}
                           : Copy{copy_dims(block, dense, strides), packed_part, part});
    start += extent;
    place += num_elements(block);
  }
  return copies;
}

std::int64_t column_total(const Shape& counts, std::size_t columns, std::size_t column) {
  std::int64_t total = 0;
  for (std::size_t i = column; i < counts.size(); i += columns) total += counts[i];
  return total;
}

/// Blocks of one column below each other.
struct Run {
  std::int64_t blocks = 1, stride = 0, count = 0;
};

/// From block `first` on, those of as many elements, each as far from the one before.
Run equal_blocks(const Shape& counts, const Shape& places, std::size_t columns, std::size_t first) {
  Run run{.count = counts[first]};
  for (std::size_t i = first + columns; i < counts.size(); i += columns) {
    const std::int64_t stride = places[i] - places[i - columns];
    if (counts[i] != run.count || (run.blocks > 1 && stride != run.stride)) break;
    run.stride = stride;
    ++run.blocks;
  }
  return run;
}

}  // namespace

std::vector<Copy> broadcast_to(const KernelArgs& args) {
  return copy_whole(args, broadcast_strides(args.inputs[0].type.shape, args.output.type.shape));
}

std::vector<Copy> transpose(const KernelArgs& args) {
  const Shape dense = row_major_strides(args.inputs[0].type.shape);
  Shape strides;
  for (const std::int64_t dim : args.attrs.integers("perm")) {
    strides.push_back(dense[static_cast<std::size_t>(dim)]);
  }
  return copy_whole(args, strides);
}

std::vector<Copy> slice(const KernelArgs& args) {
  const Shape strides = row_major_strides(args.inputs[0].type.shape);
  const std::int64_t axis_stride = strides[static_cast<std::size_t>(args.attrs.integer("axis"))];
  return copy_whole(args, strides, args.attrs.integer("start") * axis_stride);
}

std::vector<Copy> concatenate(const KernelArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const Shape strides = row_major_strides(args.output.type.shape);
  std::int64_t start = 0;
  std::vector<Copy> copies;
  for (const TensorView& x : args.inputs) {
    const Shape& shape = x.type.shape;
    std::byte* const place = at(args.output, start * strides[axis]);
    start += shape[axis];
    if (x.data == place) continue;  // it was computed there
    copies.push_back({copy_dims(shape, row_major_strides(shape), strides), x.data, place});
  }
  return copies;
}

std::vector<Copy> halo_pack(const KernelArgs& args) {
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const auto& starts = args.attrs.integers("starts");
  const TensorView& x = args.inputs[0];
  const Shape strides = row_major_strides(x.type.shape);
  Shape piece = x.type.shape;
  std::int64_t place = 0;
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    piece[dim] = args.attrs.integers("extents")[i];
    if (num_elements(piece) == 0) continue;
    copies.push_back({copy_dims(piece, strides, row_major_strides(piece)),
                      at(x, starts[i] * strides[dim]), at(args.output, place)});
    place += num_elements(piece);
  }
  return copies;
}

std::vector<Copy> halo_unpack(const KernelArgs& args) {
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const auto own = static_cast<std::size_t>(args.attrs.integer("own"));
  const auto& extents = args.attrs.integers("extents");
  const TensorView& x = args.inputs[0];
  const Shape from = row_major_strides(x.type.shape);
  const Shape to = row_major_strides(args.output.type.shape);
  Shape piece = args.output.type.shape;
  std::int64_t start = 0;  // along dim of the result
  std::int64_t place = 0;  // in the pieces
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    piece[dim] = extents[i];
    if (num_elements(piece) == 0) continue;
    std::byte* target = at(args.output, start * to[dim]);
    if (i == own) {
      const std::byte* kept = at(x, args.attrs.integer("start") * from[dim]);
      copies.push_back({copy_dims(piece, from, to), kept, target});
    } else {
      copies.push_back(
          {copy_dims(piece, row_major_strides(piece), to), at(args.inputs[1], place), target});
      place += num_elements(piece);
    }
    start += extents[i];
  }
  return copies;
}

std::vector<Copy> pack(const KernelArgs& args) {
  return copy_blocks(args, args.inputs[0], args.output, true);
}

std::vector<Copy> unpack(const KernelArgs& args) {
  return copy_blocks(args, args.output, args.inputs[0], false);
}

std::vector<Copy> transpose_blocks(const KernelArgs& args) {
  const Shape& counts = args.attrs.integers("counts");
  const auto columns = static_cast<std::size_t>(args.attrs.integer("columns"));
  const std::size_t rows = counts.size() / columns;
  Shape places(counts.size());  // of blocks in the operand
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), std::int64_t{0});
  const auto alike = [&](std::size_t a, std::size_t b) {  // columns
    for (std::size_t row = 0; row < rows; ++row) {
      if (counts[row * columns + a] != counts[row * columns + b]) return false;
    }
    return true;
  };
  // A copy takes columns that are alike, and of these rows whose blocks stand as far from each
  // other and have as many elements.
  std::int64_t place = 0;  // in the result
  std::vector<Copy> copies;
  for (std::size_t column = 0, next = 0; column < columns; column = next) {
    for (next = column + 1; next < columns && alike(column, next);) ++next;
    const auto repeats = static_cast<std::int64_t>(next - column);
    const std::int64_t total = column_total(counts, columns, column);
    std::int64_t done = 0;
    for (std::size_t row = 0; row < rows;) {
      const Run run = equal_blocks(counts, places, columns, row * columns + column);
      if (run.count > 0) {
        copies.push_back(
            {{{repeats, run.count, total}, {run.blocks, run.stride, run.count}, {run.count, 1, 1}},
             at(args.inputs[0], places[row * columns + column]),
             at(args.output, place + done)});
      }
      done += run.blocks * run.count;
      row += static_cast<std::size_t>(run.blocks);
    }
    place += repeats * total;
  }
  return copies;
}

}  // namespace meshwork::movement
