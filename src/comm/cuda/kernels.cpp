#include "comm/cuda/kernels.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr char kReduceText[] = R"cuda(
struct Inputs {
  const T* at[MOST];
};
struct Outputs {
  T* at[MOST];
};

// What one load brings.
typedef Pack<T, 16 / sizeof(T)> Terms;

// A NaN in b is returned, too: a > NaN is false.
DEVICE T combine(T a, T b) {
#if IS_SUM
  return (T)((TERM)a + (TERM)b);
#else
  return a > b || a != a ? a : b;
#endif
}

DEVICE Terms combine(Terms a, const Terms& b) {
  for (int i = 0; i < (int)(16 / sizeof(T)); ++i) a.at[i] = combine(a.at[i], b.at[i]);
  return a;
}

// The largest power of two below `count`.
__device__ constexpr int left_of(int count) {
  int half = 1;
  while (2 * half < count) half *= 2;
  return half;
}

// Element i of all inputs from `kFirst` on, in the canonical order.
template <class V, int kFirst, int kCount>
struct Tree {
  DEVICE V at(const Inputs& in, int64 i) {
    constexpr int kLeft = left_of(kCount);
    return combine(Tree<V, kFirst, kLeft>::at(in, i),
                   Tree<V, kFirst + kLeft, kCount - kLeft>::at(in, i));
  }
};
template <class V, int kFirst>
struct Tree<V, kFirst, 1> {
  DEVICE V at(const Inputs& in, int64 i) { return ((const V*)in.at[kFirst])[i]; }
};

template <class V>
DEVICE void reduce(const Inputs& in, const Outputs& out, int32 outputs, int64 i) {
  const V result = Tree<V, 0, MEMBERS>::at(in, i);
  for (int32 k = 0; k < outputs; ++k) ((V*)out.at[k])[i] = result;
}

// The first `packs` packs as such, all behind them one by one.
KERNEL(reduce_peers, Inputs in, Outputs out, int32 outputs, int64 packs, int64 count) {
  FOR_EACH(i, packs) reduce<Terms>(in, out, outputs, i);
  const int64 first = packs * (int64)(16 / sizeof(T));
  FOR_EACH(i, count - first) reduce<T>(in, out, outputs, first + i);
}
)cuda";

constexpr char kMoveText[] = R"cuda(
struct Move {
  const uint8* from;
  uint8* to;
  int64 units;
  int32 unit;  // bytes
};
struct Moves {
  Move at[MOST];
};

template <class U>
DEVICE void copy(const Move& move, int32 block, int32 blocks) {
  const U* from = (const U*)move.from;
  U* to = (U*)move.to;
  const int64 step = (int64)blocks * blockDim.x;
  for (int64 i = (int64)block * blockDim.x + threadIdx.x; i < move.units; i += step) {
    to[i] = from[i];
  }
}

// `blocks` blocks for each move.
KERNEL(move_blocks, Moves moves, int32 blocks) {
  const Move& move = moves.at[blockIdx.x / blocks];
  const int32 block = blockIdx.x % blocks;
  switch (move.unit) {
    case 16:
      return copy<uint4>(move, block, blocks);
    case 8:
      return copy<uint64>(move, block, blocks);
    case 4:
      return copy<uint32>(move, block, blocks);
    case 2:
      return copy<uint16>(move, block, blocks);
    default:
      return copy<uint8>(move, block, blocks);
  }
}
)cuda";

constexpr int kThreads = 256;
constexpr std::int64_t kPackBytes = 16;
// So many threads keep any link busy, and leave multiprocessors to those who compute meanwhile.
constexpr std::int64_t kMostBlocks = 256;
// From this size on the engines that only copy are as fast.
constexpr std::int64_t kLargeMove = std::int64_t{4} << 20U;

// As the kernels have them.
struct Inputs {
  std::array<const std::byte*, kMostPeers> at{};
};
struct Outputs {
  std::array<std::byte*, kMostPeers> at{};
};
struct DeviceMove {
  const std::byte* from;
  std::byte* to;
  std::int64_t units;
  std::int32_t unit;
};
struct DeviceMoves {
  std::array<DeviceMove, kMostPeers> at{};
};

std::string most() { return fmt::format("#define MOST {}\n", kMostPeers); }

/// A type of kernels, and that in which its sums are taken: signed ones may not overflow.
struct SumTypes {
  const char* type;
  const char* term;
};

SumTypes sum_types(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return {"float", "float"};
    case DType::kInt32:
      return {"int32", "uint32"};
    case DType::kInt64:
      return {"int64", "uint64"};
    default:
      MW_CHECK(false, "no reduction of {}", to_string(dtype));
  }
}

Source reduce_source(std::size_t members, DType dtype, Reduction reduction) {
  const auto [type, term] = sum_types(dtype);
  return {"reduce_peers", kReduceText,
          most() + fmt::format("#define T {}\n#define TERM {}\n#define MEMBERS {}\n"
                               "#define IS_SUM {}\n",
                               type, term, members, reduction == Reduction::kSum ? 1 : 0)};
}

Grid grid_over(std::int64_t work, std::int64_t most_blocks) {
  return {std::min((work + kThreads - 1) / kThreads, most_blocks), kThreads};
}

std::uintptr_t bits_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

/// The largest power of two up to 16 that divides all that `bits` have been joined of.
std::int64_t unit_of(std::uintptr_t bits) {
  const std::uintptr_t all = bits | kPackBytes;
  return static_cast<std::int64_t>(all & (~all + 1));
}

}  // namespace

Launch reduction(CudaStream& stream, std::span<const std::byte* const> inputs,
                 std::span<std::byte* const> outputs, std::int64_t count, DType dtype,
                 Reduction reduction) {
  MW_CHECK(!inputs.empty() && std::ssize(inputs) <= kMostPeers && std::ssize(outputs) <= kMostPeers,
           "{} inputs, {} outputs", inputs.size(), outputs.size());
  Inputs in;
  Outputs out;
  std::copy(inputs.begin(), inputs.end(), in.at.begin());
  std::copy(outputs.begin(), outputs.end(), out.at.begin());
  std::uintptr_t places = 0;
  for (const std::byte* place : inputs) places |= bits_of(place);
  for (const std::byte* place : outputs) places |= bits_of(place);
  const auto per_pack = kPackBytes / static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t packs = unit_of(places) == kPackBytes ? count / per_pack : 0;
  const Grid grid = grid_over(std::max(packs, count - packs * per_pack), kMostBlocks);
  return kernel_launch(stream, reduce_source(inputs.size(), dtype, reduction), "reduce_peers", grid,
                       in, out, static_cast<std::int32_t>(outputs.size()), packs, count);
}

Launch moves(CudaStream& stream, const std::vector<Move>& list) {
  MW_CHECK(std::ssize(list) <= kMostPeers, "{} moves", list.size());
  std::vector<Move> large;
  DeviceMoves small;
  std::int64_t count = 0, most_units = 0;
  for (const Move& move : list) {
    if (move.bytes >= kLargeMove) {
      large.push_back(move);
    } else if (move.bytes > 0) {
      const std::int64_t unit =
          unit_of(bits_of(move.from) | bits_of(move.to) | static_cast<std::uintptr_t>(move.bytes));
      small.at[static_cast<std::size_t>(count++)] = {move.from, move.to, move.bytes / unit,
                                                     static_cast<std::int32_t>(unit)};
      most_units = std::max(most_units, move.bytes / unit);
    }
  }
  const std::int64_t each =
      grid_over(most_units, kMostBlocks / std::max<std::int64_t>(count, 1)).blocks;
  const Source source{"move_blocks", kMoveText, most()};
  const Launch together = kernel_launch(stream, source, source.name, Grid{each * count, kThreads},
                                        small, static_cast<std::int32_t>(each));
  if (large.empty()) return together;
  return [&stream, large, together] {
    together();
    for (const Move& move : large) stream.copy(move.to, move.from, move.bytes);
  };
}

}  // namespace meshwork::cuda
