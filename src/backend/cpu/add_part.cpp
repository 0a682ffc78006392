// y = x, but y[.., start + i, ..] += part[.., i, ..] along `dim`
#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "backend/views.h"
#include "base/parallel.h"
#include "base/simd.h"

namespace meshwork::cpu {
namespace {

template <class T>
struct AddRow {
  [[gnu::always_inline]] static void run(const T* part, T* y, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) store(y[i], computed(y[i]) + computed(part[i]));
  }
};

template <class T>
Launch launch(const KernelArgs& args) {
  const std::int64_t dim = args.attrs.integer("dim");
  const AxisView whole = around_axis(args.output.type.shape, dim);
  const std::int64_t row = whole.extent * whole.inner;
  const std::int64_t start = args.attrs.integer("start") * whole.inner;
  const std::int64_t added = around_axis(args.inputs[1].type.shape, dim).extent * whole.inner;
  const T *x = args.inputs[0].as<T>(), *part = args.inputs[1].as<T>();
  T* y = args.output.as<T>();
  return [=, add = vectorized<AddRow<T>>()] {
    const std::int64_t written = x == y ? added : row;
    for_each_share(whole.outer, whole.outer * written, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (x != y)
          std::memcpy(y + i * row, x + i * row, static_cast<std::size_t>(row) * sizeof(T));
        add(part + i * added, y + i * row + start, added);
      }
    });
  };
}

}  // namespace

Launch add_part(const KernelArgs& args) {
  return with_float(args.output.type.dtype, [&](auto x) { return launch<decltype(x)>(args); });
}

}  // namespace meshwork::cpu
