#include "target.h"

#include <fmt/format.h>

#include <vector>

#include "base/join.h"

namespace meshwork {

std::string to_string(const Target& target) {
  const std::vector<std::string> fusions(target.fusions.begin(), target.fusions.end());
  const std::vector<std::string> kernels(target.kernels.begin(), target.kernels.end());
  return fmt::format(
      "{}: alignment {}, cache {}, fusions of {}, rows of {}, sums of {} columns, launch {}, "
      "copies {}, "
      "halves from {}, products of lines of {} from {} up to {}, {} times as fast in 16 bits, "
      "light {}, "
      "{} operations per byte, TensorFloat-32 {}, NCCL {}, small {}, buckets {}, ahead {}, fusions "
      "{}, "
      "kernels {}\n",
      target.name, target.alignment, target.cache, target.longest_fusion, target.longest_row,
      target.column_sums, target.launch_bytes, target.small_copy, target.split_work,
      target.product_line, target.padded_work, target.memory_line, target.narrow_speed,
      target.light_flops, target.flops_per_byte, target.tensor_float32, target.nccl,
      target.small_message, target.bucket, target.prefetch, join(fusions, " "), join(kernels, " "));
}

}  // namespace meshwork
