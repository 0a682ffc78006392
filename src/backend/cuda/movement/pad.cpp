// y[i..] = x[i - low..] where x has it, else 0. In one pass: what is written is written once.
#include <algorithm>
#include <array>

#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr int kMostDims = 8;

// Of words; x is dense.
constexpr char kText[] = R"cuda(
struct Dim {
  int64 low, held;  // y has x from `low` on, so many
  Divisor extent;
};
struct Dims {
  int32 rank;
  Dim dims[DIMS];  // the last one first
};

KERNEL(pad, T* y, const T* x, const Dims all, int64 count) {
  FOR_EACH(i, count) {
    Index rest = (Index)i;
    int64 from = 0, stride = 1;
    bool there = true;
    for (int d = 0; d < all.rank; ++d) {
      const Dim& dim = all.dims[d];
      const Index place = d + 1 < all.rank ? take_last(rest, dim.extent) : rest;
      const int64 of_x = (int64)place - dim.low;
      there = there && of_x >= 0 && of_x < dim.held;
      from += of_x * stride;
      stride *= dim.held;
    }
    T word = T();
    if (there) word = x[from];
    y[i] = word;
  }
}
)cuda";

struct Dim {
  std::int64_t low = 0, held = 1, extent = 1;
};

// The same structs.
struct KernelDim {
  std::int64_t low, held;
  Divisor extent;
};
struct KernelDims {
  std::int32_t rank = 0;
  std::array<KernelDim, kMostDims> dims{};
};

/// A dimension that x fills goes into the one before it.
std::vector<Dim> merged_dims(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  std::vector<Dim> dims(1);
  for (std::size_t d = 0; d < y.type.shape.size(); ++d) {
    const Dim dim{args.attrs.integers("low")[d] + x.region.offset[d] - y.region.offset[d],
                  x.type.shape[d], y.type.shape[d]};
    if (dim.low == 0 && dim.held == dim.extent) {
      Dim& outer = dims.back();
      outer = {outer.low * dim.extent, outer.held * dim.extent, outer.extent * dim.extent};
    } else {
      dims.push_back(dim);
    }
  }
  MW_CHECK(dims.size() <= kMostDims, "{} padded dimensions", dims.size());
  return dims;
}

}  // namespace

Launch pad(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const auto size = static_cast<std::int64_t>(size_of(y.type.dtype));
  std::vector<Dim> dims = merged_dims(args);
  Dim& last = dims.back();
  const std::int64_t bytes = word_bytes({address_of(x.data), address_of(y.data), last.low * size,
                                         last.held * size, last.extent * size});
  const std::int64_t n = bytes / size;
  last = {last.low / n, last.held / n, last.extent / n};
  KernelDims all;
  std::int64_t count = 1;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    all.dims.at(static_cast<std::size_t>(all.rank++)) = {dim->low, dim->held,
                                                         divisor_of(dim->extent)};
    count *= dim->extent;
  }
  const Source source{"pad", std::string(kIndexText) + kText,
                      define_index(count) + define_word("T", bytes) + define("DIMS", kMostDims)};
  return launch_over(args, source, count, y.data, x.data, all, count);
}

}  // namespace meshwork::cuda
