// y = x, but y[.., start + i, ..] += part[.., i, ..] along `dim`. In the place of x only the part
// is gone through.
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/kernels.h"
#include "backend/views.h"

namespace meshwork::cuda {
namespace {

// In groups: lines of `row`, of which those from `start` on are added to. A launch goes through
// `span` of each from `begin` on.
constexpr char kText[] = R"cuda(
KERNEL(add_part, Group<T>* y, const Group<T>* x, const Group<T>* part, int64 row, int64 start,
       int64 added, int64 begin, Divisor span, int64 count) {
  FOR_EACH(i, count) {
    Index line = (Index)i;
    const int64 column = begin + take_last(line, span);
    const int64 place = column - start;
    Group<T> sum = x[line * row + column];
    if (place >= 0 && place < added) {
      const Group<T> more = part[line * added + place];
#pragma unroll
      for (int n = 0; n < N; ++n) {
        sum.v[n] = from_float<T>(to_float(sum.v[n]) + to_float(more.v[n]));
      }
    }
    y[line * row + column] = sum;
  }
}
)cuda";

}  // namespace

Launch add_part(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &part = args.inputs[1], &y = args.output;
  const std::int64_t dim = args.attrs.integer("dim");
  const AxisView whole = around_axis(y.type.shape, dim);
  const auto size = static_cast<std::int64_t>(size_of(y.type.dtype));
  const std::int64_t row = whole.extent * whole.inner;
  const std::int64_t start = args.attrs.integer("start") * whole.inner;
  const std::int64_t added = around_axis(part.type.shape, dim).extent * whole.inner;
  const std::int64_t n = word_bytes({address_of(x.data), address_of(part.data), address_of(y.data),
                                     row * size, start * size, added * size}) /
                         size;
  const bool in_place = x.data == y.data;
  const std::int64_t begin = in_place ? start : 0;
  const std::int64_t span = in_place ? added : row;
  const std::int64_t count = whole.outer * span / n;
  const Source source{"add_part", std::string(kIndexText) + std::string(kGroupText) + kText,
                      define_index(count) + define("T", y.type.dtype) + define("N", n)};
  return launch_over(args, source, count, y.data, x.data, part.data, row / n, start / n, added / n,
                     begin / n, divisor_of(span / n), count);
}

}  // namespace meshwork::cuda
