#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace meshwork {

/// What the compiler may know of a device, as plain data that the device's backend fills in. All
/// devices of a job have the same: a program depends on it, on the number of threads alone it does
/// not. As it stands nothing is fused and no two collectives are joined.
struct Target {
  std::string name = "cpu";
  int threads = 1;               ///< that compute one kernel together
  std::int64_t alignment = 64;   ///< bytes: values in device memory begin at multiples of it
  std::int64_t cache = 0;        ///< bytes that one of the units that compute has for itself
  int longest_fusion = 1;        ///< nodes of one pass, whose tiles stay near the unit
  std::int64_t longest_row = 0;  ///< elements of a row that a pass may add up as it goes
  std::int64_t column_sums = 0;  ///< sums of columns that a pass may keep as it goes
  /// Bytes that it moves while it launches a kernel: to wait for others to be launched with is
  /// worth no more memory. 0: launching costs nothing.
  std::int64_t launch_bytes = 0;
  std::int64_t small_copy = 0;  ///< bytes: up to here a copy from the host costs more than them
  std::int64_t split_work = 0;  ///< multiplications of a product worth a sum of two halves
  /// Bytes: products of 16 bits are several times as fast where lines of their operands and results
  /// begin at multiples of so many; those of at least `padded_work` multiplications, if others may
  /// be filled up. 0: lines begin anywhere.
  std::int64_t product_line = 0;
  std::int64_t padded_work = 0;
  /// Bytes: what is filled up begins its lines at multiples of so many, so that memory has no bytes
  /// of two of them in one piece that it moves.
  std::int64_t memory_line = 0;
  double narrow_speed = 1;         ///< of products of 16 bits, times that of products of float32
  double light_flops = 8;          ///< per element: no dearer than to fetch the element from memory
  double flops_per_byte = 20;      ///< peak operations in the time of one byte to another device
  bool tensor_float32 = false;     ///< products of float32 may round their operands to 10 bits
  bool nccl = false;               ///< exchanges by NCCL, with an order of sums of its own
  std::int64_t small_message = 0;  ///< bytes: up to here the call costs more than the bytes
  std::int64_t bucket = 0;         ///< bytes of a collective that fills the links
  std::int64_t prefetch = 0;  ///< bytes of weights to gather before they are read; 0: then alone
  std::set<std::string> fusions = {};  ///< names of those that pay

  using Ops = std::set<std::string, std::less<>>;  ///< by name
  Ops kernels = {};                                ///< that it can compute
  /// Each list: ops that one kernel computes for less than each alone, where they read the same.
  std::set<std::vector<std::string>> siblings = {};
  Ops several_at_once = {};  ///< of which it computes several nodes at once, whatever they read
  Ops stacked = {};          ///< that it computes for a stack of operands at once

  /// Bytes that a value of so many takes with what aligns the next one.
  std::int64_t aligned(std::int64_t bytes) const {
    return (bytes + alignment - 1) / alignment * alignment;
  }
};

/// All that programs depend on, for people and for a comparison across ranks.
std::string to_string(const Target& target);

}  // namespace meshwork
