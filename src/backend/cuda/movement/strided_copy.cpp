// Copies between tensors of any strides. Threads take the words of what is written in order, four
// each, and find their places by multiplications; copies of one kind share a launch.
#include "backend/cuda/movement/strided_copy.h"

#include <algorithm>
#include <array>
#include <map>

#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/in_turn.h"

namespace meshwork::cuda {
namespace {

constexpr int kMostDims = 6;
constexpr int kMostCopies = 16;  // parameters of a kernel have 4 KiB
constexpr int kThreads = 256;
constexpr std::int64_t kBlockWords = 4 * kThreads;

constexpr char kText[] = R"cuda(
struct Dim {
  int64 from, to;
  Divisor extent;
};
struct Copy {
  const T* from;
  T* to;
  int64 words;
  uint32 first_block;
  int32 rank;
  Dim dims[DIMS];  // the last one first
};
struct Copies {
  int32 count;
  Copy copies[COPIES];
};

template <int kRank>
DEVICE void run(const Copy& copy) {
  const int rank = kRank > 0 ? kRank : copy.rank;
  const int64 first = (int64)(blockIdx.x - copy.first_block) * 4 * THREADS + threadIdx.x;
  T words[4];
  int64 to[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first + i * THREADS >= copy.words) continue;
    Index rest = (Index)(first + i * THREADS);
    int64 from = 0;
    to[i] = 0;
#pragma unroll
    for (int d = 0; d < rank; ++d) {
      const Index place = d + 1 < rank ? take_last(rest, copy.dims[d].extent) : rest;
      from += place * copy.dims[d].from;
      to[i] += place * copy.dims[d].to;
    }
    words[i] = copy.from[from];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first + i * THREADS < copy.words) copy.to[to[i]] = words[i];
  }
}

KERNEL(strided_copy, const Copies all) {
  int k = 0;
  while (k + 1 < all.count && blockIdx.x >= all.copies[k + 1].first_block) ++k;
  const Copy& copy = all.copies[k];
  switch (copy.rank) {
    case 1: return run<1>(copy);
    case 2: return run<2>(copy);
    case 3: return run<3>(copy);
    case 4: return run<4>(copy);
    default: return run<0>(copy);
  }
}
)cuda";

// The same structs.
struct KernelDim {
  std::int64_t from, to;
  Divisor extent;
};
struct KernelCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t words = 0;
  std::uint32_t first_block = 0;
  std::int32_t rank = 0;
  std::array<KernelDim, kMostDims> dims{};
};
struct KernelCopies {
  std::int32_t count = 0;
  std::array<KernelCopy, kMostCopies> copies{};
};
static_assert(sizeof(KernelCopies) < 4096);

/// In the largest words that stand together in both tensors.
WordCopy in_words(movement::Copy copy, std::int64_t element_bytes) {
  std::vector<CopyDim>& dims = copy.dims;
  dims = simplified(std::move(dims));
  std::int64_t bytes = element_bytes;
  if (!dims.empty() && dims.back().from == 1 && dims.back().to == 1) {
    CopyDim& run = dims.back();
    bytes = word_bytes({address_of(copy.from), address_of(copy.to), run.extent * element_bytes});
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
      bytes = word_bytes({bytes, dims[d].from * element_bytes, dims[d].to * element_bytes});
    }
    const std::int64_t elements = bytes / element_bytes;
    run.extent /= elements;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
      dims[d].from /= elements;
      dims[d].to /= elements;
    }
    if (run.extent == 1) dims.pop_back();
  }
  std::int64_t words = 1;
  for (const CopyDim& dim : dims) words *= dim.extent;
  return {std::move(copy), bytes, words};
}

bool is_dense(const WordCopy& copy) {
  const std::vector<CopyDim>& dims = copy.copy.dims;
  return dims.empty() || (dims.size() == 1 && dims[0].from == 1 && dims[0].to == 1);
}

/// Copies of no more dimensions than the kernel takes: those beyond are walked here.
void add_of_few_dims(const WordCopy& copy, std::vector<WordCopy>& result) {
  if (copy.copy.dims.size() <= kMostDims) {
    result.push_back(copy);
    return;
  }
  WordCopy part = copy;
  std::vector<CopyDim>& dims = part.copy.dims;
  const auto least =
      std::min_element(dims.begin(), dims.end(),
                       [](const CopyDim& a, const CopyDim& b) { return a.extent < b.extent; });
  const CopyDim walked = *least;
  dims.erase(least);
  part.words /= walked.extent;
  for (std::int64_t i = 0; i < walked.extent; ++i) {
    add_of_few_dims(part, result);
    part.copy.from += walked.from * copy.bytes;
    part.copy.to += walked.to * copy.bytes;
  }
}

KernelCopy of_kernel(const WordCopy& copy, std::int64_t first_block) {
  const std::vector<CopyDim>& dims = copy.copy.dims;
  KernelCopy result{copy.copy.from, copy.copy.to, copy.words,
                    static_cast<std::uint32_t>(first_block),
                    std::max<std::int32_t>(1, static_cast<std::int32_t>(dims.size()))};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const CopyDim& dim = dims[dims.size() - 1 - d];
    result.dims.at(d) = {dim.from, dim.to, divisor_of(dim.extent)};
  }
  return result;
}

/// One launch.
Launch copy_strided(CudaStream& stream, std::span<const WordCopy> copies) {
  KernelCopies all;
  std::int64_t blocks = 0, most = 0;
  for (const WordCopy& copy : copies) {
    all.copies.at(static_cast<std::size_t>(all.count++)) = of_kernel(copy, blocks);
    blocks += (copy.words + kBlockWords - 1) / kBlockWords;
    most = std::max(most, copy.words);
  }
  const Source source{"strided_copy", std::string(kIndexText) + kText,
                      define_index(most) + define_word("T", copies.front().bytes) +
                          define("DIMS", kMostDims) + define("COPIES", kMostCopies) +
                          define("THREADS", kThreads)};
  return kernel_launch(stream, source, source.name, {blocks, kThreads}, all);
}

}  // namespace

Launch copy_all(CudaStream& stream, const std::vector<movement::Copy>& copies,
                std::int64_t element_bytes) {
  std::vector<Launch> launches;
  std::map<std::pair<std::int64_t, bool>, std::vector<WordCopy>> of_kind;
  for (const movement::Copy& copy : copies) {
    const WordCopy words = in_words(copy, element_bytes);
    if (words.words == 0) continue;
    if (copies.size() == 1 && is_dense(words)) {
      return [&stream, from = copy.from, to = copy.to, bytes = words.words * words.bytes] {
        stream.copy(to, from, bytes);
      };
    }
    if (is_transposition(words)) {
      launches.push_back(copy_transposed(stream, words));
    } else {
      const bool wide = words.words > std::int64_t{1} << 31;
      add_of_few_dims(words, of_kind[{words.bytes, wide}]);
    }
  }
  for (const auto& [kind, same] : of_kind) {
    for (std::size_t i = 0; i < same.size(); i += kMostCopies) {
      launches.push_back(copy_strided(
          stream, std::span(same).subspan(i, std::min<std::size_t>(kMostCopies, same.size() - i))));
    }
  }
  return in_turn(std::move(launches));
}

}  // namespace meshwork::cuda
