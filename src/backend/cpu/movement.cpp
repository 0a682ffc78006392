// Ops that only move elements: broadcast_to, concatenate, halo_pack, halo_unpack, pack, slice,
// transpose, unpack
#include "backend/cpu/kernels.h"
#include "backend/cpu/strided_copy.h"
#include "backend/cpu/views.h"

namespace meshwork::cpu {
namespace {

std::vector<CopyDim> copy_dims(const Shape& extents, const Shape& from, const Shape& to) {
  std::vector<CopyDim> dims;
  for (std::size_t d = 0; d < extents.size(); ++d) dims.push_back({extents[d], from[d], to[d]});
  return dims;
}

std::byte* at(const TensorView& view, std::int64_t element) {
  return view.data + element * static_cast<std::int64_t>(size_of(view.type.dtype));
}

/// The dense operand to the whole result, along strides of the operand.
Launch copy_whole(const KernelArgs& args, const Shape& from) {
  const Shape& shape = args.output.type.shape;
  const StridedCopy copy(copy_dims(shape, from, row_major_strides(shape)), args.output.type.dtype);
  return [copy, x = args.inputs[0].data, y = args.output.data] { copy.run(x, y); };
}

/// A copy with its pointers.
struct BoundCopy {
  StridedCopy copy;
  const std::byte* from;
  std::byte* to;
};

Launch run_all(std::vector<BoundCopy> copies) {
  return [copies = std::move(copies)] {
    for (const BoundCopy& copy : copies) copy.copy.run(copy.from, copy.to);
  };
}

/// Between the tensor `whole` and its blocks along `dim` in `packed`, each dense.
Launch copy_blocks(const KernelArgs& args, const TensorView& whole, const TensorView& packed,
                   bool packs) {
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const Shape strides = row_major_strides(whole.type.shape);
  Shape block = whole.type.shape;
  std::int64_t start = 0;
  std::int64_t place = 0;
  std::vector<BoundCopy> copies;
  for (const std::int64_t extent : args.attrs.integers("extents")) {
    block[dim] = extent;
    const Shape dense = row_major_strides(block);
    const auto dims = packs ? copy_dims(block, strides, dense) : copy_dims(block, dense, strides);
    std::byte* part = at(whole, start * strides[dim]);
    std::byte* packed_part = at(packed, place);
    copies.push_back({StridedCopy(dims, whole.type.dtype), packs ? part : packed_part,
                      packs ? packed_part : part});
    start += extent;
    place += num_elements(block);
  }
  return run_all(std::move(copies));
}

/// One dense piece of a tensor along `dim`, into or out of a tensor in which it has `strides`.
BoundCopy copy_piece(const Shape& piece, const Shape& from, const Shape& to, const std::byte* x,
                     std::byte* y, DType dtype) {
  return {StridedCopy(copy_dims(piece, from, to), dtype), x, y};
}

}  // namespace

Launch broadcast_to(const KernelArgs& args) {
  return copy_whole(args, broadcast_strides(args.inputs[0].type.shape, args.output.type.shape));
}

Launch transpose(const KernelArgs& args) {
  const Shape dense = row_major_strides(args.inputs[0].type.shape);
  Shape strides;
  for (const std::int64_t dim : args.attrs.integers("perm")) {
    strides.push_back(dense[static_cast<std::size_t>(dim)]);
  }
  return copy_whole(args, strides);
}

Launch slice(const KernelArgs& args) {
  const Shape strides = row_major_strides(args.inputs[0].type.shape);
  const std::int64_t axis_stride = strides[static_cast<std::size_t>(args.attrs.integer("axis"))];
  KernelArgs shifted = args;
  shifted.inputs[0].data = at(args.inputs[0], args.attrs.integer("start") * axis_stride);
  return copy_whole(shifted, strides);
}

Launch concatenate(const KernelArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const Shape strides = row_major_strides(args.output.type.shape);
  std::int64_t start = 0;
  std::vector<BoundCopy> copies;
  for (const TensorView& x : args.inputs) {
    const Shape& shape = x.type.shape;
    copies.push_back(
        {StridedCopy(copy_dims(shape, row_major_strides(shape), strides), x.type.dtype), x.data,
         at(args.output, start * strides[axis])});
    start += shape[axis];
  }
  return run_all(std::move(copies));
}

Launch halo_pack(const KernelArgs& args) {
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const auto& starts = args.attrs.integers("starts");
  const TensorView& x = args.inputs[0];
  const Shape strides = row_major_strides(x.type.shape);
  Shape piece = x.type.shape;
  std::int64_t place = 0;
  std::vector<BoundCopy> copies;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    piece[dim] = args.attrs.integers("extents")[i];
    if (num_elements(piece) == 0) continue;
    copies.push_back(copy_piece(piece, strides, row_major_strides(piece),
                                at(x, starts[i] * strides[dim]), at(args.output, place),
                                x.type.dtype));
    place += num_elements(piece);
  }
  return run_all(std::move(copies));
}

Launch halo_unpack(const KernelArgs& args) {
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const auto own = static_cast<std::size_t>(args.attrs.integer("own"));
  const auto& extents = args.attrs.integers("extents");
  const TensorView& x = args.inputs[0];
  const Shape from = row_major_strides(x.type.shape);
  const Shape to = row_major_strides(args.output.type.shape);
  Shape piece = args.output.type.shape;
  std::int64_t start = 0;  // along dim of the result
  std::int64_t place = 0;  // in the pieces
  std::vector<BoundCopy> copies;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    piece[dim] = extents[i];
    if (num_elements(piece) == 0) continue;
    std::byte* target = at(args.output, start * to[dim]);
    if (i == own) {
      const std::byte* kept = at(x, args.attrs.integer("start") * from[dim]);
      copies.push_back(copy_piece(piece, from, to, kept, target, x.type.dtype));
    } else {
      copies.push_back(copy_piece(piece, row_major_strides(piece), to, at(args.inputs[1], place),
                                  target, x.type.dtype));
      place += num_elements(piece);
    }
    start += extents[i];
  }
  return run_all(std::move(copies));
}

Launch pack(const KernelArgs& args) { return copy_blocks(args, args.inputs[0], args.output, true); }

Launch unpack(const KernelArgs& args) {
  return copy_blocks(args, args.output, args.inputs[0], false);
}

}  // namespace meshwork::cpu
