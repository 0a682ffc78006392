#include "backend/cuda/products/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "backend/cuda/products/heuristics.h"
#include "backend/cuda/products/trial.h"
#include "base/conversion.h"
#include "base/error.h"
#include "base/rng.h"
#include "device/cuda/timer.h"

namespace meshwork::cuda::products {
namespace {

constexpr int kMostAlgorithms = 16;
constexpr double kNoise = 0.02;  ///< of a time: algorithms that differ by no more are as fast
constexpr int kRounds = 9;
constexpr double kRoundMicroseconds = 1000;  ///< of one algorithm, in launches behind each other
constexpr int kMostLaunches = 50;
constexpr std::chrono::seconds kMostTime{1};  ///< that rounds begin in, for one product

/// Numbers between -1 and 1, again and again.
void fill(Device& device, CudaStream& stream, std::byte* to, DType dtype, std::int64_t bytes) {
  constexpr std::size_t kCount = 1 << 14;
  static const std::vector<float> kNumbers = [] {
    std::vector<float> numbers(kCount);
    for (std::size_t i = 0; i < kCount; ++i) numbers[i] = 2 * uniform_at(1, 0, i) - 1;
    return numbers;
  }();
  std::vector<std::byte> words(kCount * size_of(dtype));
  if (dtype == DType::kFloat32) {
    std::memcpy(words.data(), kNumbers.data(), words.size());
  } else {
    round_elements(kNumbers.data(), static_cast<std::int64_t>(kCount), dtype, words.data());
  }
  std::int64_t filled = std::min(bytes, static_cast<std::int64_t>(words.size()));
  upload(device, stream, to, words.data(), filled);
  while (filled < bytes) {
    const std::int64_t more = std::min(filled, bytes - filled);
    stream.copy(to + filled, to, more);
    filled += more;
  }
}

/// A product like another one, in memory of its own.
class Bench {
 public:
  Bench(Device& device, const Product& like) : stream_(device.make_stream()), product_(like) {
    place(device, product_.x, like.operands, like.m, like.k);
    place(device, product_.w, like.operands, like.k, like.n);
    place(device, product_.y, like.result, like.m, like.n);
    if (like.epilogue.bias != nullptr) {
      MatrixStack bias{.data = const_cast<std::byte*>(like.epilogue.bias),
                       .stack = like.epilogue.stack};
      place(device, bias, like.result, 1, like.epilogue.columns);
      product_.epilogue.bias = bias.data;
    }
    memory_.push_back(device.allocate(workspace_bytes()));
  }

  CudaStream& stream() const { return cuda_stream(*stream_); }
  const Product& product() const { return product_; }
  Trial trial(const cublasLtMatmulAlgo_t& algorithm) const {
    return product_trial(stream(), product_, memory_.back().get(), algorithm);
  }

 private:
  std::int64_t workspace_bytes() const {
    return product_workspace(product_.stack, product_.m, product_.n, product_.k);
  }

  /// Where it is aligned as it was.
  void place(Device& device, MatrixStack& matrices, DType dtype, std::int64_t rows,
             std::int64_t columns) {
    constexpr std::uintptr_t kMostAlignment = 256;
    const auto beside = reinterpret_cast<std::uintptr_t>(matrices.data) % kMostAlignment;
    const std::int64_t elements = (product_.stack - 1) * matrices.stack +
                                  (rows - 1) * matrices.rows + (columns - 1) * matrices.columns + 1;
    const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(dtype));
    memory_.push_back(device.allocate(bytes + static_cast<std::int64_t>(beside)));
    matrices.data = memory_.back().get() + beside;
    fill(device, stream(), matrices.data, dtype, bytes);
  }

  std::unique_ptr<Stream> stream_;
  Product product_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

/// An algorithm that computes the product.
struct Candidate {
  cublasLtMatmulAlgo_t algorithm;
  int launches = 1;
  Launch round = nullptr;  ///< so many of them, as programs launch them: recorded
  double microseconds = std::numeric_limits<double>::infinity();  ///< the least
};

std::vector<Candidate> candidates_of(const Bench& bench, Timer& timer,
                                     const std::vector<cublasLtMatmulAlgo_t>& algorithms) {
  std::vector<Candidate> candidates;
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms) {
    const Trial trial = bench.trial(algorithm);
    if (trial() != CUBLAS_STATUS_SUCCESS) continue;
    const auto launch = [&] { check(trial(), "measuring a product"); };
    const double once = std::max(timer.microseconds(launch), 1.0);
    Candidate candidate{.algorithm = algorithm};
    candidate.launches =
        static_cast<int>(std::clamp(kRoundMicroseconds / once, 1.0, double{kMostLaunches}));
    candidate.round = bench.stream().recorded([&] {
      for (int i = 0; i < candidate.launches; ++i) launch();
    });
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// In turn, so that whatever slows the GPU down meanwhile slows down all of them.
void measure(Timer& timer, std::vector<Candidate>& candidates) {
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  for (int round = 0; round < kRounds; ++round) {
    for (Candidate& candidate : candidates) {
      const double all = timer.microseconds(candidate.round);
      candidate.microseconds = std::min(candidate.microseconds, all / candidate.launches);
    }
    if (std::chrono::steady_clock::now() > end) return;
  }
}

}  // namespace

std::size_t place_of_least(std::span<const double> microseconds) {
  const double least = *std::ranges::min_element(microseconds);
  const auto first =
      std::ranges::find_if(microseconds, [&](double mine) { return mine <= least * (1 + kNoise); });
  return static_cast<std::size_t>(first - microseconds.begin());
}

Tuned fastest_algorithm(Device& device, const Product& product) {
  const Bench bench(device, product);
  const Problem problem = problem_of(by_columns(bench.product()));
  const std::string text = text_of(problem);
  Timer timer(bench.stream());
  std::vector<Candidate> candidates =
      candidates_of(bench, timer,
                    proposed_algorithms(bench.stream().gpu(), problem,
                                        Description(problem, bench.product().epilogue.bias), text,
                                        kMostAlgorithms));
  if (candidates.empty()) {
    fail(
        "device cuda: cuBLASLt computes {} by none of its algorithms; update cuBLAS, or say "
        "device: cpu",
        text);
  }
  measure(timer, candidates);
  std::vector<double> times;
  for (const Candidate& candidate : candidates) times.push_back(candidate.microseconds);
  const std::size_t least = place_of_least(times);
  return {.algorithm = candidates[least].algorithm,
          .microseconds = times[least],
          .before = times.front(),
          .tried = static_cast<int>(candidates.size())};
}

}  // namespace meshwork::cuda::products
