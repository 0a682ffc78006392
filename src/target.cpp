#include "target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace meshwork {

std::string to_string(const Target& target) {
  return fmt::format(
      "{}: alignment {}, cache {}, chains of {}, halves from {}, light {}, {} operations per byte, "
      "small {}, buckets {}, fusions {}, kernels {}\n",
      target.name, target.alignment, target.cache, target.longest_chain, target.split_work,
      target.light_flops, target.flops_per_byte, target.small_message, target.bucket,
      fmt::join(target.fusions, " "), fmt::join(target.kernels, " "));
}

}  // namespace meshwork
