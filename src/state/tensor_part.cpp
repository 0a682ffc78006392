#include "state/tensor_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace meshwork {

std::string describe(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", to_string(dtype), to_string(shape));
}

void read_part(const GlobalTensor& tensor, const TensorPart& part, const UseElements& use) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 20U;
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  for_each_run(part.region, part.shape, [&](const Run& run) {
    for (std::int64_t begin = 0; begin < run.count; begin += kBytes / size) {
      const std::int64_t count = std::min(kBytes / size, run.count - begin);
      use(run.global + begin, part.read((run.local + begin) * size, count * size), count);
    }
  });
}

void check_part(const GlobalTensor& tensor, const Region& region, const Shape& local) {
  MW_CHECK(region.global == tensor.shape, "{}: {}, region of {}", tensor.path,
           to_string(tensor.shape), to_string(region.global));
  const std::size_t rank = tensor.shape.size();
  MW_CHECK(region.offset.size() == rank && local.size() == rank, "{}", tensor.path);
  for (std::size_t d = 0; d < rank; ++d) {
    MW_CHECK(
        region.offset[d] >= 0 && local[d] >= 0 && region.offset[d] + local[d] <= tensor.shape[d],
        "{}: part {} at {} of {}", tensor.path, to_string(local), to_string(region.offset),
        to_string(tensor.shape));
  }
}

std::vector<std::size_t> in_path_order(const std::vector<GlobalTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensors[a].path < tensors[b].path; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::string& path = tensors[order[i]].path;
    MW_CHECK(tensors[order[i - 1]].path != path, "two tensors have the path '{}'", path);
  }
  return order;
}

}  // namespace meshwork
