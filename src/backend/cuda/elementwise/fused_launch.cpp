// Fusion groups side by side, in as few launches as their kernels and parameters let.
#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "backend/cuda/elementwise/fused_kernel.h"
#include "backend/cuda/elementwise/fused_rows.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/kernels.h"
#include "backend/in_turn.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

/// The bytes of the source's Pass, and of its Passes.
class Parameters {
 public:
  explicit Parameters(std::span<const FusedKernel> kernels) {
    for (const FusedKernel& kernel : kernels) {
      add(kernel.places);
      add(std::span(&kernel.sizes, 1));
      add(kernel.dims);
      add(kernel.numbers);
      align();
    }
  }

  /// With blocks of each pass, and nothing for passes up to a number of them.
  void complete(std::span<const FusedKernel> kernels, std::size_t passes) {
    bytes_.resize(bytes_.size() / kernels.size() * passes);
    for (const FusedKernel& kernel : kernels) {
      blocks_ += static_cast<std::uint32_t>(kernel.grid.blocks);
      add(std::span(&blocks_, 1));
    }
    for (std::size_t pass = kernels.size(); pass < passes; ++pass) add(std::span(&blocks_, 1));
    align();
  }

  std::vector<std::byte>& bytes() { return bytes_; }
  std::int64_t blocks() const { return blocks_; }

 private:
  template <class Items>
  void add(const Items& items) {
    const auto bytes = std::as_bytes(std::span(items));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void align() { bytes_.resize((bytes_.size() + 7) / 8 * 8); }

  std::vector<std::byte> bytes_;
  std::uint32_t blocks_ = 0;
};

/// How many passes like this one fit into the parameters of a kernel, a power of two.
std::size_t most_passes(const FusedKernel& kernel) {
  const std::size_t each = Parameters({&kernel, 1}).bytes().size() + sizeof(std::uint32_t);
  MW_CHECK(each <= kParameterBytes, "a fusion group of {} operands", kernel.places.size());
  return std::bit_floor(kParameterBytes / each);
}

Launch one_launch(std::span<const FusedKernel> kernels, CudaStream& stream) {
  const std::size_t passes = std::bit_ceil(kernels.size());
  Parameters parameters(kernels);
  parameters.complete(kernels, passes);
  Source source = kernels.front().source;
  source.defines += define("PASSES", static_cast<std::int64_t>(passes));
  const Grid grid{parameters.blocks(), kernels.front().grid.threads};
  const Function function = stream.gpu().function(source, source.name);
  return [&stream, function, grid, bytes = parameters.bytes()]() mutable {
    void* all = bytes.data();
    stream.launch(function.handle(), grid, &all);
  };
}

}  // namespace

Launch launch_of(std::span<const FusedKernel> kernels, CudaStream& stream) {
  std::vector<Launch> launches;
  const std::size_t most = most_passes(kernels.front());
  for (std::size_t begin = 0; begin < kernels.size(); begin += most) {
    const auto part = kernels.subspan(begin, std::min(most, kernels.size() - begin));
    launches.push_back(one_launch(part, stream));
  }
  return in_turn(std::move(launches));
}

std::int64_t pass_workspace(const FusionGroup& group) {
  return PassShape(group).row > 0 ? rows_workspace(group) : 0;
}

Launch bind_fusions(std::span<const FusionGroup> groups, CudaStream& stream) {
  std::vector<Launch> launches;
  std::map<std::string, std::vector<FusedKernel>> alike;  // by source
  for (const FusionGroup& group : groups) {
    const PassShape shape(group);
    if (shape.row > 0) {
      launches.push_back(bind_rows(group, stream));
    } else if (num_elements(shape.elements) > 0) {
      FusedKernel kernel = fused_kernel(group);
      alike[kernel.source.defines + kernel.source.text].push_back(std::move(kernel));
    }
  }
  for (const auto& [source, kernels] : alike) launches.push_back(launch_of(kernels, stream));
  return in_turn(std::move(launches));
}

}  // namespace meshwork::cuda
