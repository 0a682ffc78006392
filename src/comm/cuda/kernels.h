#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/reduction.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// The most members whose memory one kernel reads.
constexpr int kMostPeers = 64;

/// outputs[k][i] = inputs[0][i] + inputs[1][i] + ... (or the maximum) for i < count and each k, in
/// the order and with the rules of tree_reduce(). What is read and written may be memory of other
/// GPUs; an output may be one of the inputs. kFloat32, kInt32 or kInt64.
Launch reduction(CudaStream& stream, std::span<const std::byte* const> inputs,
                 std::span<std::byte* const> outputs, std::int64_t count, DType dtype,
                 Reduction reduction);

/// A block on its way from one place to another.
struct Move {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};

/// All of these at once; they overlap nowhere. At most kMostPeers.
Launch moves(CudaStream& stream, const std::vector<Move>& list);

}  // namespace meshwork::cuda
