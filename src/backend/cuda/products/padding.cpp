#include "backend/cuda/products/padding.h"

#include <string>
#include <string_view>

#include "backend/cuda/kernel.h"
#include "base/rounded_up.h"

namespace meshwork::cuda::products {
namespace {

/// Elements that a line is filled up to: 16 bytes of 16-bit numbers.
constexpr std::int64_t kUnit = 8;

/// By what was measured on an H100 of bfloat16 [8192, 768] and [768, 50257]: 100 to 150 TFLOP/s as
/// they are, 600 where lines begin at 16 bytes; copies move 2 TB/s. A few launches come on top.
constexpr double kFlopsPerByte = 120;
constexpr double kFewestFlops = 4e9;

constexpr int kThreads = 256;

constexpr std::string_view kText = R"cuda(
#define V (16 / (int32)sizeof(N))

// The 16 bytes from an even address on: of two packs that hold them.
DEVICE Pack<uint32, 4> load_anywhere(const void* from) {
  const uint32 shift = (uint32)(uint64)from % 16;
  const uint32* const first = (const uint32*)((const char*)from - shift);
  const Pack<uint32, 4> low = load<4>(first), high = load<4>(first + 4);
  uint32 words[8];
#pragma unroll
  for (int32 k = 0; k < 4; ++k) words[k] = low.at[k], words[k + 4] = high.at[k];
#pragma unroll
  for (int32 k = 0; k < 6; ++k) words[k] = shift & 8 ? words[k + 2] : words[k];
#pragma unroll
  for (int32 k = 0; k < 5; ++k) words[k] = shift & 4 ? words[k + 1] : words[k];
  Pack<uint32, 4> pack;
#pragma unroll
  for (int32 k = 0; k < 4; ++k) {
    pack.at[k] = shift & 2 ? words[k] >> 16 | words[k + 1] << 16 : words[k];
  }
  return pack;
}

// to[i, j] = from[i, j], 0 beyond it. A thread writes 16 bytes, which may begin in the midst of what
// is read.
KERNEL(copy_lines, N* to, const N* from, int64 to_columns, int64 to_line, int64 lines,
       int64 columns, int64 from_line, int32 blocks_of_line) {
  const int64 i = blockIdx.x / blocks_of_line;
  const int64 pack = (int64)(blockIdx.x % blocks_of_line) * blockDim.x + threadIdx.x;
  N* const line = to + i * to_line;
  const int64 first = pack * V - (int64)line / (int64)sizeof(N) % V;
  const int64 place = i * from_line + first, end = (lines - 1) * from_line + columns;
  const bool is_whole = first >= 0 && first + V <= to_columns;
  if (is_whole && i < lines && first + V <= columns && place >= V && place + 2 * V <= end) {
    store((uint32*)(line + first), load_anywhere(from + place));
    return;
  }
#pragma unroll
  for (int32 k = 0; k < V; ++k) {
    const int64 j = first + k;
    if (j < 0 || j >= to_columns) continue;
    line[j] = i < lines && j < columns ? from[place + k] : N{};
  }
}
)cuda";

/// One of the matrices, in which elements of a line are neighbours.
struct Sheet {
  MatrixStack stack;
  DType dtype;
  std::int64_t rows = 0, columns = 0;

  bool by_rows() const { return stack.columns == 1; }
  std::int64_t lines() const { return by_rows() ? rows : columns; }
  std::int64_t length() const { return by_rows() ? columns : rows; }
  std::int64_t stride() const { return by_rows() ? stack.rows : stack.columns; }
  std::int64_t bytes() const {
    return rounded_up(lines() * stride() * static_cast<std::int64_t>(size_of(dtype)), 256);
  }
  bool is_like(const Sheet& other) const {
    return rows == other.rows && columns == other.columns && stride() == other.stride();
  }
};

struct Sheets {
  Sheet x, w, y;

  explicit Sheets(const Product& p)
      : x{p.x, p.operands, p.m, p.k}, w{p.w, p.operands, p.k, p.n}, y{p.y, p.result, p.m, p.n} {}
};

/// The sheet with other extents, or another stride where lines begin anywhere.
Sheet resized(Sheet sheet, std::int64_t rows, std::int64_t columns) {
  if (sheet.rows == rows && sheet.columns == columns && sheet.stride() % kUnit == 0) return sheet;
  sheet.rows = rows;
  sheet.columns = columns;
  (sheet.by_rows() ? sheet.stack.rows : sheet.stack.columns) = rounded_up(sheet.length(), kUnit);
  return sheet;
}

/// Extents of lines that begin anywhere are filled up, in all matrices that have them.
Sheets padded(const Product& product) {
  std::int64_t m = product.m, n = product.n, k = product.k;
  Sheets s(product);
  const auto fill = [](const Sheet& sheet, std::int64_t& rows, std::int64_t& columns) {
    std::int64_t& extent = sheet.by_rows() ? columns : rows;
    if (sheet.stride() % kUnit != 0) extent = rounded_up(extent, kUnit);
  };
  fill(s.x, m, k);
  fill(s.w, k, n);
  fill(s.y, m, n);
  s.x = resized(s.x, m, k);
  s.w = resized(s.w, k, n);
  s.y = resized(s.y, m, n);
  return s;
}

/// The sheets in scratch, and where it goes on; those that are as they were stay where they are.
struct Placed {
  Sheets before, after;
  std::int64_t end = 0;

  Placed(const Product& product, std::byte* workspace) : before(product), after(padded(product)) {
    for (const auto sheet : {&Sheets::x, &Sheets::w, &Sheets::y}) {
      Sheet& mine = after.*sheet;
      if (mine.is_like(before.*sheet)) continue;
      mine.stack.data = workspace == nullptr ? nullptr : workspace + end;
      end += mine.bytes();
    }
  }

  Product product(const Product& like) const {
    Product p = like;
    p.m = after.y.rows;
    p.n = after.y.columns;
    p.k = after.x.columns;
    p.x = after.x.stack;
    p.w = after.w.stack;
    p.y = after.y.stack;
    return p;
  }
};

/// Nothing where both are the same.
Launch copy(CudaStream& stream, const Sheet& to, const Sheet& from) {
  if (to.is_like(from)) return [] {};
  const Source source{"copy_lines", std::string(kText), define("N", to.dtype)};
  const std::int64_t packs = to.length() * static_cast<std::int64_t>(size_of(to.dtype)) / 16 + 2;
  const std::int64_t blocks = (packs + kThreads - 1) / kThreads;
  return kernel_launch(stream, source, source.name, Grid{to.lines() * blocks, kThreads},
                       to.stack.data, from.stack.data, to.length(), to.stride(), from.lines(),
                       from.length(), from.stride(), static_cast<std::int32_t>(blocks));
}

}  // namespace

bool pays_padding(const Product& product) {
  if (size_of(product.operands) != 2 || product.stack > 1) return false;
  if (product.epilogue.bias != nullptr) return false;
  const double flops = 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                       static_cast<double>(product.k);
  const std::int64_t copied = Placed(product, nullptr).end;
  return copied > 0 && flops >= kFewestFlops &&
         flops >= kFlopsPerByte * 2 * static_cast<double>(copied);
}

std::int64_t padded_workspace(const Product& product) {
  const Placed placed(product, nullptr);
  const Product p = placed.product(product);
  return placed.end + product_workspace(p.stack, p.m, p.n, p.k);
}

Product padded_product(const Product& product, std::byte* workspace) {
  return Placed(product, workspace).product(product);
}

Launch padded_launch(CudaStream& stream, const Product& product, std::byte* workspace) {
  const Placed placed(product, workspace);
  return [x = copy(stream, placed.after.x, placed.before.x),
          w = copy(stream, placed.after.w, placed.before.w),
          multiply = product_launch(stream, placed.product(product), workspace + placed.end),
          y = copy(stream, placed.before.y, placed.after.y)] {
    x();
    w();
    multiply();
    y();
  };
}

}  // namespace meshwork::cuda::products
