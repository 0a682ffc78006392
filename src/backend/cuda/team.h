#pragma once

#include <string_view>

namespace meshwork::cuda {

/// How threads of a block fold what each of them holds: always in the same order, so that a result
/// has the same bits in every run. Part of a source that folds.
inline constexpr std::string_view kTeamText = R"cuda(
// `lanes` threads, a power of two, that fold for one result; a block has several such teams.
struct Team {
  int32 lane, lanes;
  int32 distance;  // between the threads of neighbouring lanes
  int32 slot;      // which team of the block
};

// The lanes are neighbours: 32 at most, or the whole block. The block is whole warps.
DEVICE Team neighbours(int32 lanes) {
  const int32 thread = threadIdx.x;
  return {thread % lanes, lanes, 1, thread / lanes};
}

// Teams side by side, `width` of them: neighbouring threads work for neighbouring results. The
// block has lanes * width threads, 256 at most.
DEVICE Team side_by_side(int32 lanes, int32 width) {
  const int32 thread = threadIdx.x;
  return {thread / width, lanes, width, thread % width};
}

// What the thread `distance` lanes away holds.
DEVICE int32 from_lane(int32 x, int32 distance) { return __shfl_xor_sync(~0u, x, distance); }
DEVICE int64 from_lane(int64 x, int32 distance) { return __shfl_xor_sync(~0u, x, distance); }
DEVICE float from_lane(float x, int32 distance) { return __shfl_xor_sync(~0u, x, distance); }
DEVICE float64 from_lane(float64 x, int32 distance) { return __shfl_xor_sync(~0u, x, distance); }

// One for each thread, or for each warp.
template <class N>
DEVICE N* shared_cells() {
  __shared__ N cells[256];
  return cells;
}

// Op::fold(a, b) of what the lanes hold, which every lane gets. All threads of the block call it.
template <class Op, class N>
DEVICE N fold_neighbours(const Team& team, N x) {
  for (int32 d = (team.lanes < 32 ? team.lanes : 32) / 2; d > 0; d /= 2) {
    x = Op::fold(x, from_lane(x, d));
  }
  if (team.lanes <= 32) return x;
  N* const cells = shared_cells<N>();
  __syncthreads();  // others may still read what an earlier fold left
  if (threadIdx.x % 32 == 0) cells[threadIdx.x / 32] = x;
  __syncthreads();
  const int32 warps = team.lanes / 32;
  x = cells[threadIdx.x % warps];
  for (int32 d = warps / 2; d > 0; d /= 2) x = Op::fold(x, from_lane(x, d));
  return x;
}

// The same of teams that lie side by side.
template <class Op, class N>
DEVICE N fold_side_by_side(const Team& team, N x) {
  if (team.lanes == 1) return x;
  N* const cells = shared_cells<N>();
  __syncthreads();
  cells[threadIdx.x] = x;
  for (int32 d = team.lanes / 2; d > 0; d /= 2) {
    __syncthreads();
    if (team.lane < d) {
      cells[threadIdx.x] = Op::fold(cells[threadIdx.x], cells[threadIdx.x + d * team.distance]);
    }
  }
  __syncthreads();
  return cells[team.slot];
}

template <class Op, class N>
DEVICE N fold_team(const Team& team, N x) {
  if (team.distance == 1) return fold_neighbours<Op>(team, x);
  return fold_side_by_side<Op>(team, x);
}
)cuda";

}  // namespace meshwork::cuda
