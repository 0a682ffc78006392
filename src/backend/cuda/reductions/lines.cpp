#include "backend/cuda/reductions/lines.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/reductions/pack.h"
#include "backend/cuda/team.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cuda {
namespace {

constexpr std::int32_t kThreads = 256;
constexpr std::int32_t kMostLanes = 512;    ///< of one line; a thread may then use 128 registers
constexpr std::int32_t kLanesBesides = 16;  ///< of one line beside others
constexpr std::int64_t kLongRagged = 1024;  ///< from here on lines may begin within packs
constexpr std::int64_t kLongest = std::int64_t{1} << 30U;

constexpr std::string_view kText = R"cuda(
struct Lines {
  int64 count, extent, inner;
  int32 lanes, width, chunks;
};

// The line of a thread; without elements where there is no such line.
struct Line {
  Team team;
  int64 number, begin, inner;
  int32 extent, chunks;
  int32 shift;  // elements of the line before that its first pack holds (RAGGED)
};

DEVICE Line line_of(const Lines& lines) {
  Line line;
  line.team =
      lines.width > 0 ? side_by_side(lines.lanes, lines.width) : neighbours(lines.lanes);
  line.number = (int64)blockIdx.x * (blockDim.x / lines.lanes) + line.team.slot;
  const int64 outer = line.number / lines.inner;
  line.begin = outer * lines.extent * lines.inner + line.number - outer * lines.inner;
  line.inner = lines.inner;
  line.extent = line.number < lines.count ? (int32)lines.extent : 0;
  line.chunks = lines.chunks;
  line.shift = RAGGED ? (int32)(line.begin % V) : 0;
  return line;
}

// Where element k of a chunk of a thread stands in its line: neighbouring lanes read neighbouring
// packs. It is not in the line for elements that the thread has not.
DEVICE int32 place_of(const Line& line, int32 chunk, int32 k) {
  return ((chunk * (E / V) + k / V) * line.team.lanes + line.team.lane) * V + k % V - line.shift;
}
// The chunk in which the thread has this place of its line; -1: another thread has it.
DEVICE int32 turn_of(const Line& line, int32 place) {
  const int32 pack = (place + line.shift) / V, row = pack / line.team.lanes;
  return pack - row * line.team.lanes == line.team.lane ? row / (E / V) : -1;
}
DEVICE bool has(const Line& line, int32 place) {
  return (!RAGGED || place >= 0) && place < line.extent;
}
// Whether the line has all of the pack that begins there.
DEVICE bool has_pack(const Line& line, int32 place) {
  return has(line, place) && (!RAGGED || place + V <= line.extent);
}

// Where the packs of a chunk of a thread lie: the first one, and how far the next is, in elements.
DEVICE int64 first_of(const Line& line, int32 chunk) {
  const int32 place = place_of(line, chunk, 0);
  return line.begin + (DENSE ? place : place * line.inner);
}
DEVICE int64 step_of(const Line& line) {
  const int32 step = line.team.lanes * V;
  return DENSE ? step : step * line.inner;
}

// What a chunk of a thread holds, as it lies in memory: packs of which the line has all.
template <int kBytes>
struct Words {
  typedef Pack<uint32, kBytes / 4> All;
};
template <>
struct Words<2> {
  typedef Pack<uint16, 1> All;
};
struct Packs {
  Words<V * sizeof(T)>::All at[E / V];
};

// Nobody waits for them until they are taken.
DEVICE void fetch(Packs& packs, const T* x, const Line& line, int32 chunk) {
  const T* const from = x + first_of(line, chunk);
  const int64 step = step_of(line);
#pragma unroll
  for (int32 k = 0; k < E / V; ++k) {
    if (has_pack(line, place_of(line, chunk, k * V))) {
      packs.at[k] = *(const Words<V * sizeof(T)>::All*)(from + k * step);
    }
  }
}

// A chunk as float32; -infinity beyond the line. Packs that the line has in part are read here.
DEVICE void take(float (&e)[E], const Packs& packs, const T* x, const Line& line, int32 chunk) {
  const T* const from = x + first_of(line, chunk);
  const int64 step = step_of(line);
#pragma unroll
  for (int32 k = 0; k < E; k += V) {
    const int32 place = place_of(line, chunk, k);
    if (has_pack(line, place)) {
      const Pack<T, V> pack = load<V>((const T*)&packs.at[k / V]);
      for (int32 j = 0; j < V; ++j) e[k + j] = computed(pack.at[j]);
    } else {
      const T* const pack_at = from + k / V * step;
      for (int32 j = 0; j < V; ++j) {
        e[k + j] = RAGGED && has(line, place + j) ? (float)computed(pack_at[j]) : -MW_INFINITY;
      }
    }
  }
}

DEVICE void load(float (&e)[E], const T* x, const Line& line, int32 chunk) {
  Packs packs;
  fetch(packs, x, line, chunk);
  take(e, packs, x, line, chunk);
}

template <class Y>
DEVICE void save(const float (&e)[E], Y* y, const Line& line, int32 chunk) {
  Y* const to = y + first_of(line, chunk);
  const int64 step = step_of(line);
#pragma unroll
  for (int32 k = 0; k < E; k += V) {
    const int32 place = place_of(line, chunk, k);
    Y* const pack_at = to + k / V * step;
    if (has_pack(line, place)) {
      store(pack_at, packed<Y, V>(e + k));
    } else if (RAGGED) {
      for (int32 j = 0; j < V; ++j) {
        if (has(line, place + j)) store(pack_at[j], e[k + j]);
      }
    }
  }
}

// Whether the thread has any element of the chunk.
DEVICE bool has_some(const Line& line, int32 chunk) {
  return place_of(line, chunk, 0) < line.extent;
}

// body(chunk, e) for all chunks of which the thread has elements, the first one first; the next one
// is on its way meanwhile. In the end `packs` has the last one.
template <class Body>
DEVICE void for_each_chunk(Packs& packs, const T* x, const Line& line, const Body& body) {
  fetch(packs, x, line, 0);
  for (int32 chunk = 0; chunk < line.chunks; ++chunk) {
    float e[E];
    take(e, packs, x, line, chunk);
    if (chunk + 1 < line.chunks) fetch(packs, x, line, chunk + 1);
    if (has_some(line, chunk)) body(chunk, e);
  }
}

// The same, the last one first, which `packs` has; in the end it has the first. A body may write
// where its chunk was read.
template <class Body>
DEVICE void for_each_chunk_back(Packs& packs, const T* x, const Line& line, const Body& body) {
  for (int32 chunk = line.chunks; chunk-- > 0;) {
    float e[E];
    take(e, packs, x, line, chunk);
    if (chunk > 0) fetch(packs, x, line, chunk - 1);
    if (has_some(line, chunk)) body(chunk, e);
  }
}
)cuda";

std::int32_t power_of_two_above(std::int64_t x) {
  return static_cast<std::int32_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(x, 1, kMostLanes))));
}

/// Threads of a line whose packs cover so many elements, of which each holds `held`. Where lines
/// lie side by side so do their threads in a block: then the fewer lines, the more threads of each.
std::int32_t lanes_of(const Lines& lines, std::int64_t covered, int held) {
  const std::int32_t needed = power_of_two_above(ceil_divide(covered, held));
  if (lines.inner == 1) return needed;
  const auto few = static_cast<std::uint64_t>(std::max<std::int64_t>(1, kThreads / lines.count));
  const auto most = std::max(kLanesBesides, static_cast<std::int32_t>(std::bit_floor(few)));
  return std::min(needed, most);
}

}  // namespace

LinePlan plan_lines(const KernelArgs& args, std::int64_t axis,
                    std::initializer_list<const TensorView*> tensors) {
  const Shape& shape = args.inputs[0].type.shape;
  const auto begin = shape.begin(), at = begin + static_cast<std::ptrdiff_t>(axis);
  const std::int64_t outer = num_elements(Shape(begin, at));
  const std::int64_t inner = num_elements(Shape(at + 1, shape.end()));
  LinePlan plan{.lines = {outer * inner, *at, inner, 1, 0, 0}, .held = 8, .pack = 1, .grid = {}};
  Lines& lines = plan.lines;
  if (lines.count == 0) return plan;
  MW_CHECK(lines.extent <= kLongest, "a line of {} elements", lines.extent);
  if (inner == 1) plan.pack = pack_width(lines.extent, tensors);
  if (lines.extent > 256) plan.held = 16;
  if (inner == 1 && lines.extent >= kLongRagged) {
    const int widest = pack_width(kMostLanes, tensors);
    plan.is_ragged = widest > plan.pack;
    plan.pack = widest;
  }
  const std::int64_t covered = lines.extent + (plan.is_ragged ? plan.pack - 1 : 0);
  lines.lanes = lanes_of(lines, covered, plan.held);
  if (inner > 1) lines.width = kThreads / lines.lanes;
  const std::int64_t together = std::int64_t{lines.lanes} * plan.held;
  lines.chunks = static_cast<std::int32_t>(ceil_divide(covered, together));
  const int threads = std::max(kThreads, lines.lanes);
  const bool alone = inner == 1 && lines.lanes > 32;
  const std::int64_t of_block = alone ? 1 : threads / lines.lanes;
  plan.grid = {ceil_divide(lines.count, of_block), alone ? lines.lanes : threads};
  return plan;
}

Source lines_source(const KernelArgs& args, const std::string& name, std::string_view text,
                    const LinePlan& plan) {
  std::string all(kTeamText);
  all.append(kStoreText).append(kText).append(text);
  return {name, all,
          define("T", args.inputs[0].type.dtype) + define("V", plan.pack) + define("E", plan.held) +
              define("RAGGED", std::int64_t{plan.is_ragged}) +
              define("DENSE", std::int64_t{plan.lines.inner == 1})};
}

}  // namespace meshwork::cuda
