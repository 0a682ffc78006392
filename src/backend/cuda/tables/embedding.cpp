// y[.., d] = table[index[..], d], rows counted over the whole table; 0 for one that is not here
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

// Rows of `width` words.
constexpr char kText[] = R"cuda(
KERNEL(embedding, T* y, const T* table, const int32* index, int64 first, int64 rows, Divisor width,
       int64 count) {
  FOR_EACH(i, count) {
    Index position = (Index)i;
    const Index place = take_last(position, width);
    const int64 row = index[position] - first;
    T word = T();
    if (row >= 0 && row < rows) word = table[row * (int64)width.value + place];
    y[i] = word;
  }
}
)cuda";

}  // namespace

Launch embedding(const KernelArgs& args) {
  const TensorView &table = args.inputs[0], &index = args.inputs[1], &y = args.output;
  MW_CHECK(index.type.dtype == DType::kInt32);
  const std::int64_t row = num_bytes({y.type.dtype, {table.type.shape[1]}});
  const std::int64_t bytes = word_bytes({address_of(table.data), address_of(y.data), row});
  const std::int64_t count = num_bytes(y.type) / bytes;
  const Source source{"embedding", std::string(kIndexText) + kText,
                      define_index(count) + define_word("T", bytes)};
  return launch_over(args, source, count, y.data, table.data, index.data, table.region.offset[0],
                     table.type.shape[0], divisor_of(row / bytes), count);
}

}  // namespace meshwork::cuda
