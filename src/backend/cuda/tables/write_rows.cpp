// y[b, s, ..] = rows[b, s - start[b], ..] where there is such a row, else x[b, s, ..]. Where y
// stands in the place of x only the rows are copied.
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"

namespace meshwork::cuda {
namespace {

// Rows of `width` words; row 0 goes to place start[b] - first of those held.
constexpr char kText[] = R"cuda(
KERNEL(write_rows, T* y, const T* rows, const int32* start, int64 first, int64 places, Divisor height,
       Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index sample = (Index)i;
    const int64 word = take_last(sample, width);
    const int64 row = take_last(sample, height);
    const int64 place = start[sample] - first + row;
    if (place < 0 || place >= places) continue;
    y[(sample * places + place) * (int64)width.value + word] = rows[i];
  }
}

KERNEL(join_rows, T* y, const T* x, const T* rows, const int32* start, int64 first, int64 height,
       Divisor places, Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index sample = (Index)i;
    const int64 word = take_last(sample, width);
    const int64 place = take_last(sample, places);
    const int64 row = place + first - start[sample];
    const bool is_row = row >= 0 && row < height;
    y[i] = is_row ? rows[(sample * height + row) * (int64)width.value + word] : x[i];
  }
}
)cuda";

}  // namespace

/// The result may take the place of rows of its type: they are read from a copy then.
std::int64_t write_rows_workspace(const KernelArgs& args) {
  const TensorType& rows = args.inputs[1].type;
  return rows == args.output.type ? num_bytes(rows) : 0;
}

Launch write_rows(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &rows = args.inputs[1], &start = args.inputs[2];
  const TensorView& y = args.output;
  const Shape& shape = y.type.shape;
  const bool over_rows = y.data == rows.data;
  std::byte* const from = over_rows ? args.workspace : rows.data;
  const std::int64_t row = num_bytes({y.type.dtype, Shape(shape.begin() + 2, shape.end())});
  const std::int64_t bytes =
      word_bytes({address_of(x.data), address_of(from), address_of(y.data), row});
  const std::int64_t first = y.region.offset[1], places = shape[1];
  const std::int64_t row_count = rows.type.shape[1];
  const auto source = [&](std::int64_t count, const char* kernel) {
    return Source{kernel, std::string(kIndexText) + kText,
                  define_index(count) + define_word("T", bytes)};
  };
  if (x.data == y.data && !over_rows) {
    const std::int64_t count = num_bytes(rows.type) / bytes;
    return launch_over(args, source(count, "write_rows"), count, y.data, from, start.data, first,
                       places, divisor_of(row_count), divisor_of(row / bytes), count);
  }
  const std::int64_t count = num_bytes(y.type) / bytes;
  const Launch join =
      launch_over(args, source(count, "join_rows"), count, y.data, x.data, from, start.data, first,
                  row_count, divisor_of(places), divisor_of(row / bytes), count);
  if (!over_rows) return join;
  return [join, &stream = stream_of(args), from, to = rows.data, size = num_bytes(rows.type)] {
    stream.copy(from, to, size);
    join();
  };
}

}  // namespace meshwork::cuda
