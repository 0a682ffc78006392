#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace meshwork {

/// Which algorithms of cuBLASLt compute products of a GPU was measured, and is kept in a file: all
/// processes that find the same file compute the same bits.
struct TunedProducts {
  std::string file;
  std::int64_t count = 0;    ///< of products
  std::uint64_t digest = 0;  ///< of all in it that decides on results
};

/// By what this process computes products on number `gpu` of the GPUs, from the first time that it
/// asks or computes one; nothing: as cuBLASLt's heuristics say. Throws an Error of ExitCode::kFile
/// that names the file where it is damaged or of something else, and those of make_cuda_backend.
std::optional<TunedProducts> tuned_products(int gpu);

/// A kernel of a program as it is to be bound. Nobody reads at its places, but how they are aligned
/// counts.
struct KernelUse {
  std::string_view op;
  std::vector<KernelArgs> nodes;  ///< one, or those of a stack
  bool is_in_step = false;        ///< of those whose times are added up
};

/// A product that has been measured.
struct MeasuredProduct {
  std::string text;                 ///< "a product of float32 [64, 784] and [784, 128] to float32"
  int algorithms = 0;               ///< that were measured
  double before = 0, after = 0;     ///< microseconds, of heuristics' choice and of the fastest
  std::int64_t number = 0, of = 0;  ///< the first of three: 1, 3
};

/// Who watches.
struct TuningWatch {
  std::function<void(const std::string& file)> waits = [](const std::string&) {};  ///< for others
  std::function<void(const MeasuredProduct& product)> measured = [](const MeasuredProduct&) {};
};

struct Tuning {
  std::int64_t measured = 0, known = 0;    ///< products of these kernels, now and before
  double step_before = 0, step_after = 0;  ///< microseconds, of those that are in the step
  TunedProducts table;                     ///< as it is now
};

/// Measures on number `gpu` of the GPUs the products of these kernels that the file does not have,
/// and adds each to it. Two processes do so one after the other. Throws an Error of
/// ExitCode::kFile where the file cannot be kept.
Tuning tune_products(int gpu, const Target& target, std::span<const KernelUse> kernels,
                     const TuningWatch& watch = {});

}  // namespace meshwork
