#include "train/tensor_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace meshwork {

std::string describe(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", to_string(dtype), to_string(shape));
}

void for_each_run(const Window& window, const Shape& local,
                  const std::function<void(const Run&)>& visit) {
  // A run spans dimensions [split, rank): those that are whole, and the one before them.
  std::size_t split = local.size();
  std::int64_t length = 1;
  while (split > 0) {
    --split;
    length *= local[split];
    if (local[split] != window.global[split]) break;
  }
  const Shape strides = row_major_strides(window.global);
  Run run{.global = 0, .local = 0, .count = length};
  for (std::size_t d = 0; d < local.size(); ++d) run.global += window.offset[d] * strides[d];

  Shape index(split, 0);
  const std::int64_t total = num_elements(local);
  for (; run.local < total; run.local += length) {
    visit(run);
    for (std::size_t d = split; d-- > 0;) {
      run.global += strides[d];
      if (++index[d] < local[d]) break;
      run.global -= strides[d] * local[d];
      index[d] = 0;
    }
  }
}

void check_part(const GlobalTensor& tensor, const Window& window, const Shape& local) {
  MW_CHECK(window.global == tensor.shape, "{}: {}, window of {}", tensor.path,
           to_string(tensor.shape), to_string(window.global));
  const std::size_t rank = tensor.shape.size();
  MW_CHECK(window.offset.size() == rank && local.size() == rank, "{}", tensor.path);
  for (std::size_t d = 0; d < rank; ++d) {
    MW_CHECK(
        window.offset[d] >= 0 && local[d] >= 0 && window.offset[d] + local[d] <= tensor.shape[d],
        "{}: part {} at {} of {}", tensor.path, to_string(local), to_string(window.offset),
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
