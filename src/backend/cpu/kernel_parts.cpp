#include "backend/cpu/kernel_parts.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "backend/slide.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

/// Parts, at most: more threads would not find work.
constexpr std::uint64_t kMostParts = 16;
/// Places of the results that a part has, but for the fewest parts: measured, a part costs as much
/// as 100 of them, to bring its kernel into the format of the sum and to add it up.
constexpr std::int64_t kPlaces = 2048;

/// How many parts are worth it: a power of two, which most numbers of threads share well.
std::int64_t count_parts(std::int64_t places, std::int64_t kernel) {
  if (places * kernel < kSerialProduct) return 1;
  const auto many = static_cast<std::uint64_t>(places / kPlaces);
  return static_cast<std::int64_t>(std::clamp<std::uint64_t>(std::bit_floor(many), 2, kMostParts));
}

std::int64_t aligned(std::int64_t bytes) { return ceil_divide(bytes, 64) * 64; }

std::int64_t row_elements(const Shape& shape, std::size_t dim) {
  std::int64_t elements = 1;
  for (std::size_t d = dim + 1; d < shape.size(); ++d) elements *= shape[d];
  return elements;
}

/// Elements [begin, end) of a dimension before which all have one element.
void take(TensorView& view, std::size_t dim, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(size_of(view.type.dtype));
  if (view.data != nullptr) view.data += begin * row_elements(view.type.shape, dim) * element;
  view.type.shape[dim] = end - begin;
  view.region.offset[dim] += begin;
}

/// The part with these rows of the results, of the first spatial dimension, and what they read.
void take_rows(KernelArgs& part, std::int64_t begin, std::int64_t end) {
  TensorView &x = part.inputs[0], &y = part.inputs[1];
  const Shape& kernel = part.output.type.shape;
  const Slide slide = slides_between(part.attrs, x, y, {kernel.begin(), kernel.end() - 2}).front();
  const std::int64_t last = slide.first(end - 1) + (slide.window - 1) * slide.dilation + 1;
  const std::int64_t from = std::clamp<std::int64_t>(slide.first(begin), 0, slide.x);
  take(x, 1, from, std::clamp(last, from, slide.x));
  take(y, 1, begin, end);
}

/// Where block `i` of `blocks` begins; larger ones come first.
std::int64_t begin_of(std::int64_t extent, std::int64_t blocks, std::int64_t i) {
  return extent / blocks * i + std::min(i, extent % blocks);
}

/// The parts, of several images each or of some rows of one; their outputs and workspaces are those
/// of the whole.
std::vector<KernelArgs> split(const KernelArgs& args) {
  const Shape& y = args.inputs[1].type.shape;
  const std::int64_t images = y[0], elements = num_elements(args.output.type.shape);
  const std::int64_t places = elements == 0 ? 0 : num_elements(y) / y.back();
  const std::int64_t wanted = count_parts(places, elements);
  const std::int64_t groups = std::clamp<std::int64_t>(images, 1, wanted);
  const bool by_rows = groups == images && y[1] > 1;
  const std::int64_t rows = by_rows ? std::min(y[1], ceil_divide(wanted, groups)) : 1;
  std::vector<KernelArgs> parts;
  for (std::int64_t part = 0; part < groups * rows; ++part) {
    const std::int64_t group = part / rows, row = part % rows;
    KernelArgs& taken = parts.emplace_back(args);
    for (TensorView& input : taken.inputs) {
      take(input, 0, begin_of(images, groups, group), begin_of(images, groups, group + 1));
    }
    if (rows > 1) take_rows(taken, y[1] * row / rows, y[1] * (row + 1) / rows);
    taken.output.type.dtype = DType::kFloat32;
  }
  return parts;
}

/// x[0] = ((x[0] + x[1]) + (x[2] + x[3])) + .., of `rows` rows.
struct AddRowsLoop {
  [[gnu::always_inline]] static void run(float* x, std::int64_t stride, std::int64_t rows,
                                         std::int64_t columns) {
    for (std::int64_t step = 1; step < rows; step *= 2) {
      for (std::int64_t row = 0; row + step < rows; row += 2 * step) {
        float* to = x + row * stride;
        const float* from = to + step * stride;
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) to[c] += from[c];
      }
    }
  }
};

/// Adds the kernels of all parts in the first one and gives the sum to `y`.
template <class T>
struct Sum {
  float* kernels;
  std::int64_t parts, stride, elements;
  T* y;
  decltype(vectorized<AddRowsLoop>()) add = vectorized<AddRowsLoop>();

  void operator()() const {
    for_each_range(elements, [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t kColumns = 1024;
      for (std::int64_t c = begin; c < end; c += kColumns) {
        const std::int64_t columns = std::min(kColumns, end - c);
        add(kernels + c, stride, parts, columns);
        for (std::int64_t i = c; i < c + columns; ++i) store(y[i], kernels[i]);
      }
    });
  }
};

/// Whether both parts are of as many images, and of all their rows.
bool is_like(const KernelArgs& a, const KernelArgs& b) {
  const auto same = [&](std::size_t i) {
    return a.inputs[i].type == b.inputs[i].type &&
           a.inputs[i].region.offset[1] == b.inputs[i].region.offset[1];
  };
  return same(0) && same(1);
}

/// Bytes of the kernels of `parts`, and of the workspace of one of them.
struct Places {
  std::int64_t kernel, workspace;

  Places(const std::vector<KernelArgs>& parts, WorkspaceBytes bytes)
      : kernel(aligned(num_bytes(parts[0].output.type))), workspace(0) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && is_like(parts[i], parts[i - 1])) continue;
      workspace = std::max(workspace, aligned(bytes(parts[i])));
    }
  }
  std::int64_t of_part() const { return kernel + workspace; }
};

template <class T>
Launch bind_parts(const KernelArgs& args, Bind bind, WorkspaceBytes workspace) {
  const SerialScope serial;
  std::vector<KernelArgs> parts = split(args);
  if (parts.size() == 1 && args.output.type.dtype == DType::kFloat32) {
    return [launch = bind(args)] {
      const SerialScope alone;
      launch();
    };
  }
  const Places places(parts, workspace);
  const auto count = static_cast<std::int64_t>(parts.size());
  std::byte* const kernels = args.workspace;
  std::vector<Launch> launches;
  for (std::int64_t i = 0; i < count; ++i) {
    KernelArgs& part = parts[static_cast<std::size_t>(i)];
    part.output.data = kernels + i * places.kernel;
    part.workspace = kernels + count * places.kernel + i * places.workspace;
    launches.push_back(bind(part));
  }
  const Sum<T> sum{reinterpret_cast<float*>(kernels), count,
                   places.kernel / static_cast<std::int64_t>(sizeof(float)),
                   num_elements(args.output.type.shape), args.output.as<T>()};
  return [launches = std::move(launches), sum] {
    for_each_task(sum.parts, kParallelElements,
                  [&](std::int64_t part) { launches[static_cast<std::size_t>(part)](); });
    sum();
  };
}

}  // namespace

Launch bind_kernel_parts(const KernelArgs& args, Bind bind, WorkspaceBytes workspace) {
  return with_float(args.output.type.dtype,
                    [&](auto y) { return bind_parts<decltype(y)>(args, bind, workspace); });
}

std::int64_t kernel_parts_workspace(const KernelArgs& args, WorkspaceBytes workspace) {
  const SerialScope serial;
  const std::vector<KernelArgs> parts = split(args);
  const auto count = static_cast<std::int64_t>(parts.size());
  return count * Places(parts, workspace).of_part();
}

}  // namespace meshwork::cpu
