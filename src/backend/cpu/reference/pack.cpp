// pack:   y = the blocks of x with `extents` along `dim`, each row-major, one after the other
// unpack: y = the tensor that packs into x
// transpose_blocks: y = the blocks of x, rows with `columns` of them, column by column
#include <algorithm>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {
namespace {

/// body(packed, place) for each element: where it lies in the packed and in the row-major tensor.
template <class Body>
void for_each_packed(Shape shape, std::size_t dim, const std::vector<std::int64_t>& extents,
                     const Body& body) {
  const Shape strides = row_major_strides(shape);
  std::int64_t packed = 0;
  std::int64_t start = 0;
  for (const std::int64_t extent : extents) {
    shape[dim] = extent;
    for_each_index(shape, [&](const Shape& index) {
      body(packed++, start * strides[dim] + offset_of(index, strides));
    });
    start += extent;
  }
}

}  // namespace

Launch pack(const KernelArgs& args) {
  return [args] {
    with_type(args.output.type.dtype, [&](auto value) {
      using T = decltype(value);
      for_each_packed(args.inputs[0].type.shape,
                      static_cast<std::size_t>(args.attrs.integer("dim")),
                      args.attrs.integers("extents"), [&](std::int64_t packed, std::int64_t place) {
                        args.output.as<T>()[packed] = args.inputs[0].as<T>()[place];
                      });
    });
  };
}

Launch unpack(const KernelArgs& args) {
  return [args] {
    with_type(args.output.type.dtype, [&](auto value) {
      using T = decltype(value);
      for_each_packed(args.output.type.shape, static_cast<std::size_t>(args.attrs.integer("dim")),
                      args.attrs.integers("extents"), [&](std::int64_t packed, std::int64_t place) {
                        args.output.as<T>()[place] = args.inputs[0].as<T>()[packed];
                      });
    });
  };
}

Launch transpose_blocks(const KernelArgs& args) {
  return [args] {
    with_type(args.output.type.dtype, [&](auto value) {
      using T = decltype(value);
      const auto& counts = args.attrs.integers("counts");
      const std::int64_t columns = args.attrs.integer("columns");
      T* y = args.output.as<T>();
      for (std::int64_t column = 0; column < columns; ++column) {
        const T* x = args.inputs[0].as<T>();
        for (std::size_t block = 0; block < counts.size(); ++block) {
          if (static_cast<std::int64_t>(block) % columns == column) {
            y = std::copy_n(x, counts[block], y);
          }
          x += counts[block];
        }
      }
    });
  };
}

}  // namespace meshwork::reference
