// convert:   y = the stored numbers x as those of training (ops/conversion.h)
// take_rows: the same of rows of samples; 0 for a row that is not there
#include <algorithm>
#include <array>

#include "backend/copy_dim.h"
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"
#include "backend/in_turn.h"
#include "base/check.h"
#include "base/conversion.h"

namespace meshwork::cuda {
namespace {

constexpr int kMostDims = 8;
constexpr std::int64_t kMostChannels = 256;  // as many as a block has threads
constexpr std::int64_t kMostBlocks = 2048;   // each makes tables first

// Threads take groups of N neighbours. FROM is the stored type, TO float or int32; bytes go through
// a table of all 256. Channels repeat along the last dimension. MORE_DIGITS than float32 has: the
// mean is taken off in double.
constexpr char kText[] = R"cuda(
struct Dim {
  int64 from, to;  // elements
  Divisor extent;  // of the last one: groups
};
struct Rows {
  int64 count;   // of x; others are not there
  int64 stride;  // of a row of x
  int64 to;      // of a row of y
  int32 rank;
  Dim dims[DIMS];  // of a row, the last one first
};
struct Channels {
  double scale, offset;
  Divisor count;
  double mean[CHANNELS];
  float std[CHANNELS];
};

// A whole number, to 1e-6 of it, that int32 can hold; else 0.
DEVICE void store(int32& y, double value) {
  const double nearest = rint(value);
  const bool is_whole = fabs(value - nearest) <= 1e-6 * fmax(1.0, fabs(value));
  const bool fits = nearest >= -2147483648.0 && nearest <= 2147483647.0;
  y = is_whole && fits ? (int32)nearest : 0;
}
DEVICE void store(float& y, double value) { y = (float)value; }

DEVICE double scaled(FROM x, const Channels& channels) {
  return (double)computed(x) * channels.scale + channels.offset;
}
DEVICE TO converted(FROM x, const Channels& channels) {
  TO y;
  store(y, scaled(x, channels));
  return y;
}

KERNEL(convert, TO* y, const FROM* x, const int32* index, const Rows rows, const Channels channels,
       int64 count) {
#if BYTES
  __shared__ TO of_byte[256];
  of_byte[threadIdx.x] = converted((FROM)threadIdx.x, channels);
#endif
#if NORMALIZES
  __shared__ MEAN mean[CHANNELS];
  __shared__ float std[CHANNELS];
  if (threadIdx.x < channels.count.value) {
    mean[threadIdx.x] = (MEAN)channels.mean[threadIdx.x];
    std[threadIdx.x] = channels.std[threadIdx.x];
  }
#endif
  __syncthreads();
  FOR_EACH(i, count) {
    Index row = (Index)i;
    int64 from = 0, to = 0;
    Index last = 0;
    for (int d = 0; d < rows.rank; ++d) {
      const Index place = take_last(row, rows.dims[d].extent);
      if (d == 0) last = place * N;
      from += place * rows.dims[d].from;
      to += place * rows.dims[d].to;
    }
    const int64 taken = index == nullptr ? (int64)row : (int64)index[row];
    Group<TO> group = {};
    if (taken >= 0 && taken < rows.count) {
      const Group<FROM> stored = *(const Group<FROM>*)(x + taken * rows.stride + from);
#if NORMALIZES
      Index channel = take_last(last, channels.count);
#endif
#pragma unroll
      for (int n = 0; n < N; ++n) {
#if BYTES
        TO value = of_byte[(uint8)stored.v[n]];
#elif NORMALIZES && MORE_DIGITS
        TO value = (TO)(scaled(stored.v[n], channels) - mean[channel]);
#else
        TO value = converted(stored.v[n], channels);
#endif
#if NORMALIZES && MORE_DIGITS
        value = value / std[channel];
        if (++channel == channels.count.value) channel = 0;
#elif NORMALIZES
        value = (value - mean[channel]) / std[channel];
        if (++channel == channels.count.value) channel = 0;
#endif
        group.v[n] = value;
      }
    }
    *(Group<TO>*)(y + row * rows.to + to) = group;
  }
}
)cuda";

// The same structs.
struct KernelDim {
  std::int64_t from, to;
  Divisor extent;
};
struct KernelRows {
  std::int64_t count = 0, stride = 0, to = 0;
  std::int32_t rank = 0;
  std::array<KernelDim, kMostDims> dims{};
};
struct KernelChannels {
  double scale = 1, offset = 0;
  Divisor count{};
  std::array<double, kMostChannels> mean{};
  std::array<float, kMostChannels> std{};
};
static_assert(sizeof(KernelRows) + sizeof(KernelChannels) < 4000);

/// Rows of x, some of them in some order, to the rows of y, of which the device holds a part.
struct RowCopy {
  std::int64_t rows = 0;             ///< of y
  const std::byte* index = nullptr;  ///< number of the row of x for each; nullptr: the same
  std::int64_t x_rows = 0;
  std::int64_t x_row = 0;  ///< elements from one to the next
  std::int64_t y_row = 0;
  std::int64_t x_begin = 0;  ///< of what is taken of a row
  std::int64_t y_begin = 0;
  std::vector<CopyDim> dims{};  ///< of it
  std::int64_t channel = 0;     ///< of its first element
  std::int64_t channels = 1;    ///< that it has
};

/// The numbers of the channels of one launch, counted from that of the first element on.
KernelChannels channels_of(const Attrs& attrs, std::int64_t channel, std::int64_t count) {
  KernelChannels result{attrs.real("scale"), attrs.real("offset")};
  if (attrs.find("mean") == nullptr) return result;
  const std::vector<double>&mean = attrs.reals("mean"), &std = attrs.reals("std");
  if (mean.size() == 1) count = 1;
  result.count = divisor_of(count);
  for (std::int64_t c = 0; c < count; ++c) {
    const auto to = static_cast<std::size_t>(c);
    const auto from = mean.size() == 1 ? 0 : static_cast<std::size_t>(channel + c);
    result.mean.at(to) = mean.at(from);
    result.std.at(to) = static_cast<float>(std.at(from));
  }
  return result;
}

/// Elements that a thread takes at once: 4 where they stand together on both sides.
std::int64_t group_of(const RowCopy& copy, const std::byte* from, const std::byte* to,
                      std::int64_t size) {
  const CopyDim& run = copy.dims.back();
  std::int64_t all = copy.x_row | copy.y_row | run.extent;
  for (std::size_t d = 0; d + 1 < copy.dims.size(); ++d) all |= copy.dims[d].from | copy.dims[d].to;
  const bool is_aligned = word_bytes({address_of(from), 4 * size}) == word_bytes({4 * size}) &&
                          word_bytes({address_of(to)}) == 16;
  return run.from == 1 && run.to == 1 && all % 4 == 0 && is_aligned ? 4 : 1;
}

Launch launch(const KernelArgs& args, const RowCopy& copy, const KernelChannels& channels) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const auto size = static_cast<std::int64_t>(size_of(x.type.dtype));
  const std::byte* const from = x.data + copy.x_begin * size;
  std::byte* const to = y.data + copy.y_begin * static_cast<std::int64_t>(size_of(y.type.dtype));
  const std::int64_t n = group_of(copy, from, to, size);
  KernelRows rows{copy.x_rows, copy.x_row, copy.y_row};
  std::int64_t count = copy.rows;
  MW_CHECK(std::ssize(copy.dims) <= kMostDims, "{} dimensions of rows", copy.dims.size());
  for (auto dim = copy.dims.rbegin(); dim != copy.dims.rend(); ++dim) {
    const std::int64_t step = rows.rank == 0 ? n : 1;
    rows.dims.at(static_cast<std::size_t>(rows.rank++)) = {dim->from * step, dim->to * step,
                                                           divisor_of(dim->extent / step)};
    count *= dim->extent / step;
  }
  const bool normalizes = args.attrs.find("mean") != nullptr;
  const bool has_more_digits = has_more_digits_than_float32(x.type.dtype);
  const Source source{"convert", std::string(kIndexText) + std::string(kGroupText) + kText,
                      define_index(count) + define("FROM", x.type.dtype) +
                          define("TO", y.type.dtype) + define("N", n) + define("BYTES", size == 1) +
                          define("NORMALIZES", normalizes) +
                          define("MORE_DIGITS", has_more_digits) +
                          define("MEAN", has_more_digits ? DType::kFloat64 : DType::kFloat32) +
                          define("DIMS", kMostDims) + define("CHANNELS", kMostChannels)};
  Grid grid = grid_of(count);
  grid.blocks = std::min(grid.blocks, kMostBlocks);
  return kernel_launch(stream_of(args), source, "convert", grid, to, from, copy.index, rows,
                       channels, count);
}

/// Enqueues it; where there are more channels than a kernel takes some after the other.
Launch convert_rows(const KernelArgs& args, RowCopy copy) {
  if (num_elements(args.output.type.shape) == 0) return [] {};
  copy.dims = simplified(std::move(copy.dims));
  if (copy.dims.empty()) copy.dims.push_back({1, 1, 1});
  const bool by_channel = args.attrs.find("mean") != nullptr && args.attrs.reals("mean").size() > 1;
  if (!by_channel || copy.channels <= kMostChannels) {
    return launch(args, copy, channels_of(args.attrs, copy.channel, copy.channels));
  }
  const CopyDim run = copy.dims.back();
  copy.dims.back() = {run.extent / copy.channels, copy.channels, copy.channels};
  copy.dims.push_back({});
  std::vector<Launch> launches;
  for (std::int64_t c = 0; c < copy.channels; c += kMostChannels) {
    const std::int64_t count = std::min(kMostChannels, copy.channels - c);
    RowCopy some = copy;
    some.dims.back() = {count, 1, 1};
    some.x_begin += c;
    some.y_begin += c;
    launches.push_back(launch(args, some, channels_of(args.attrs, copy.channel + c, count)));
  }
  return in_turn(std::move(launches));
}

}  // namespace

Launch convert_stored(const KernelArgs& args) {
  const TensorView& y = args.output;
  RowCopy copy{.rows = 1, .x_rows = 1, .dims = {{num_elements(y.type.shape), 1, 1}}};
  if (!y.type.shape.empty()) {
    copy.channel = y.region.offset.back();
    copy.channels = y.type.shape.back();
  }
  return convert_rows(args, copy);
}

Launch take_rows(const KernelArgs& args) {
  const TensorView &samples = args.inputs[0], &index = args.inputs[1], &y = args.output;
  MW_CHECK(index.type.dtype == DType::kInt32);
  const Shape& all = samples.type.shape;
  const Shape from = row_major_strides(all), to = row_major_strides(y.type.shape);
  RowCopy copy{.rows = y.type.shape[0],
               .index = index.data,
               .x_rows = all[0],
               .x_row = from[0],
               .y_row = to[0]};
  for (std::size_t d = 1; d < all.size(); ++d) {
    copy.dims.push_back({y.type.shape[d], from[d], to[d]});
    copy.x_begin += y.region.offset[d] * from[d];
    copy.channel = y.region.offset[d];
    copy.channels = y.type.shape[d];
  }
  return convert_rows(args, copy);
}

}  // namespace meshwork::cuda
