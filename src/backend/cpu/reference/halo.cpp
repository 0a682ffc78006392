// halo_pack:   y = pieces of x along `dim`, one after the other
// halo_unpack: y = such pieces joined along `dim`, one of them out of x
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {

Launch halo_pack(const KernelArgs& args) {
  return [args] {
    with_type(args.output.type.dtype, [&](auto value) {
      using T = decltype(value);
      const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
      const auto& starts = args.attrs.integers("starts");
      Shape piece = args.inputs[0].type.shape;
      const Shape strides = row_major_strides(piece);
      T* y = args.output.as<T>();
      for (std::size_t i = 0; i < starts.size(); ++i) {
        piece[dim] = args.attrs.integers("extents")[i];
        for_each_index(piece, [&](const Shape& index) {
          *y++ = args.inputs[0].as<T>()[starts[i] * strides[dim] + offset_of(index, strides)];
        });
      }
    });
  };
}

Launch halo_unpack(const KernelArgs& args) {
  return [args] {
    with_type(args.output.type.dtype, [&](auto value) {
      using T = decltype(value);
      const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
      const auto own = static_cast<std::size_t>(args.attrs.integer("own"));
      const auto& extents = args.attrs.integers("extents");
      const Shape from = row_major_strides(args.inputs[0].type.shape);
      const Shape to = row_major_strides(args.output.type.shape);
      const T* pieces = args.inputs[1].as<T>();
      Shape piece = args.output.type.shape;
      std::int64_t place = 0;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        piece[dim] = extents[i];
        for_each_index(piece, [&](const Shape& index) {
          const std::int64_t start = args.attrs.integer("start") * from[dim];
          args.output.as<T>()[place * to[dim] + offset_of(index, to)] =
              i == own ? args.inputs[0].as<T>()[start + offset_of(index, from)] : *pieces++;
        });
        place += extents[i];
      }
    });
  };
}

}  // namespace meshwork::reference
