#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// Rows of operands, which queries see which keys, and what dropout keeps. A row of queries is a
/// pair (t, r): members of a group follow each other, so that they share tiles of keys. Behind it
/// stand products, which say what elements of a tile a thread has.
inline constexpr std::string_view kTilesText = R"cuda(
#define TILE_COLUMNS 64          // of TILE_ROWS: queries by keys, or keys by queries
#define THREADS (TILE_ROWS * 2)  // a warp for 16 rows
#define FAR (1 << 30)
#define ALL_LANES 0xffffffffu
#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f
#define NO_KEYS (-3.402823466e38f)  // a log_sum of none

DEVICE int32 divided(int32 n, const Divisor& by) { return (int32)divide((uint32)n, by); }

// A group of heads of a sample. distance: of query 0 from key 0.
struct Head {
  int32 b, g, distance;
};

// What a block computes: of rows `first`, .. of a head the columns `column`, .. over one split of
// what is added up.
struct Task {
  Head head;
  int32 first, column, split;
};

// Of so many rows and columns. Heads follow each other, from the last rows to the first: causality
// hides least from the last queries, and what takes longest begins first.
DEVICE Task task_of(const Operands& x, int32 rows, int32 columns, int32 splits, bool last_first) {
  const int32 heads = x.b * x.g, slices = max(1, (columns + WIDTH - 1) / WIDTH);
  const int32 tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
  const int32 head = (int32)(blockIdx.x % heads), rest = (int32)(blockIdx.x / heads);
  const int32 tile = rest / slices / splits;
  Task task;
  task.head.b = head / x.g;
  task.head.g = head % x.g;
  int64 distance = x.distance;
  if (x.shift != 0) distance += x.shift[task.head.b];
  task.head.distance = (int32)max(-(int64)FAR, min((int64)FAR, distance));
  task.first = (last_first ? tiles - 1 - tile : tile) * TILE_ROWS;
  task.column = rest % slices * WIDTH;
  task.split = rest / slices % splits;
  return task;
}

// Rows of a tensor that belong to a head.
template <class Number>
struct Lines {
  Number* first;
  int64 step;  // to the next t or s
  int32 count, width;
  Divisor by;
};

// Of [b, t, g, r, width].
template <class Number>
DEVICE Lines<Number> query_lines(const Operands& x, const Head& head, Number* tensor, int32 width) {
  const int64 step = (int64)x.g * x.r * width;
  return {tensor + head.b * x.t * step + (int64)head.g * x.r * width, step, x.t * x.r, width,
          x.by_r};
}

// Of [b, t, g, r], or by head [b, g, r, t].
template <class Number>
DEVICE Lines<Number> log_sum_lines(const Operands& x, const Head& head, Number* tensor) {
  if (!x.by_head) return query_lines(x, head, tensor, 1);
  const int64 place = ((int64)head.b * x.g + head.g) * x.r * x.t;
  return {tensor + place, 1, x.t * x.r, x.t, x.by_r};
}

// Of [b, s, g, width].
template <class Number>
DEVICE Lines<Number> key_lines(const Operands& x, const Head& head, Number* tensor, int32 width) {
  const int64 step = (int64)x.g * width;
  return {tensor + head.b * x.s * step + (int64)head.g * width, step, x.s, width, {1, 1, 0}};
}

template <class Number>
DEVICE Number* line(const Lines<Number>& x, int32 i) {
  const int32 place = divided(i, x.by);
  return x.first + place * x.step + (int64)(i - place * (int32)x.by.value) * x.width;
}

// Of whole tiles the first, and the end.
struct Range {
  int32 begin, end;
};

// The keys from the first to the last that queries from row m on see, masks and segments aside.
DEVICE Range keys_of(const Operands& x, const Head& head, int32 m) {
  const int64 first = (int64)head.distance + divided(m, x.by_r);
  const int64 last = (int64)head.distance + divided(min(m + TILE_ROWS, x.t * x.r) - 1, x.by_r);
  int64 begin = 0, end = x.s;
  if (x.is_causal) end = min(end, last + 1);
  if (x.window > 0) {
    begin = max(begin, first - x.window + 1);
    end = min(end, last + x.window);
  }
  return {(int32)min(begin, (int64)x.s) / TILE_COLUMNS * TILE_COLUMNS, (int32)end};
}

// The rows of queries from the first to the last that see keys from s on.
DEVICE Range queries_of(const Operands& x, const Head& head, int32 s) {
  const int64 first = (int64)s - head.distance;
  const int64 last = (int64)min(s + TILE_ROWS, x.s) - 1 - head.distance;
  int64 begin = 0, end = x.t;
  if (x.is_causal) begin = max(begin, first);
  if (x.window > 0) {
    begin = max(begin, first - x.window + 1);
    end = min(end, last + x.window);
  }
  return {(int32)min(begin, (int64)x.t) * x.r / TILE_COLUMNS * TILE_COLUMNS,
          (int32)max(end, (int64)0) * x.r};
}

// Whether the query of row m sees key s.
DEVICE bool sees(const Operands& x, const Head& head, int32 m, int32 s) {
  if (m >= x.t * x.r || s >= x.s) return false;
  const int32 t = divided(m, x.by_r);
  const int32 distance = head.distance + t - s;
  if (x.is_causal && distance < 0) return false;
  if (x.window > 0 && abs(distance) >= x.window) return false;
  if (x.key_segments != 0 && x.query_segments[(int64)head.b * x.t + t] !=
                                 x.key_segments[(int64)head.b * x.s + s]) {
    return false;
  }
  if (x.mask == 0) return true;
  return x.mask[head.b * x.mask_steps[0] + t * x.mask_steps[1] + head.g * x.mask_steps[2] +
                (m - t * x.r) * x.mask_steps[3] + s] != 0.0f;
}

// Whether all queries of so many rows from m on see all of so many keys from s on.
DEVICE bool sees_all(const Operands& x, const Head& head, int32 m, int32 rows, int32 s,
                     int32 keys) {
  if (x.mask != 0 || x.key_segments != 0) return false;
  if (m + rows > x.t * x.r || s + keys > x.s) return false;
  const int32 least = head.distance + divided(m, x.by_r) - (s + keys - 1);
  const int32 most = head.distance + divided(m + rows - 1, x.by_r) - s;
  return (!x.is_causal || least >= 0) && (x.window == 0 || (-least < x.window && most < x.window));
}

// Of four weights from element `place` on, a bit each: whether dropout keeps it. They are of one
// counter of the generator (base/rng.h).
DEVICE uint32 counter_keeps(const Operands& x, uint64 counter) {
  const Bits words = philox((uint64)x.draw_key, (uint64)*x.step, counter);
  uint32 bits = 0;
#pragma unroll
  for (int32 i = 0; i < 4; ++i) {
    bits |= uniform_of(words.at[i]) < x.rate ? 0u : 1u << i;
  }
  return bits;
}

// The same of the weights of row m for keys s to s + 3.
DEVICE uint32 keeps(const Operands& x, const Head& head, int32 m, int32 s) {
  const int32 t = divided(m, x.by_r), r = m - t * x.r;
  const uint64 place = (uint64)(x.draw_first + head.b * x.draw_sample + head.g * x.draw_group +
                                r * x.draw_member + t * x.draw_query + s);
  const uint32 before = (uint32)(place % 4);
  uint32 bits = counter_keeps(x, place / 4);
  if (before != 0) bits |= counter_keeps(x, place / 4 + 1) << 4;
  return bits >> before & 15u;
}
)cuda";

}  // namespace meshwork::cuda::attention
