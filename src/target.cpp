#include "target.h"

#include <fmt/format.h>

#include <string_view>

#include "base/join.h"

namespace meshwork {
namespace {

std::string words(const auto& names) {
  return join(std::vector<std::string>(names.begin(), names.end()), " ");
}

}  // namespace

std::string to_string(const Target& target) {
  std::string text = target.name;
  const auto add = [&](std::string_view field, const auto& value) {
    text += fmt::format(", {} {}", field, value);
  };
  add("alignment", target.alignment);
  add("cache", target.cache);
  add("longest fusion", target.longest_fusion);
  add("longest row", target.longest_row);
  add("column sums", target.column_sums);
  add("launch bytes", target.launch_bytes);
  add("small copy", target.small_copy);
  add("split work", target.split_work);
  add("product line", target.product_line);
  add("padded work", target.padded_work);
  add("memory line", target.memory_line);
  add("narrow speed", target.narrow_speed);
  add("light flops", target.light_flops);
  add("flops per byte", target.flops_per_byte);
  add("TensorFloat-32", target.tensor_float32);
  add("NCCL", target.nccl);
  add("small message", target.small_message);
  add("bucket", target.bucket);
  add("prefetch", target.prefetch);
  add("fusions", words(target.fusions));
  add("kernels", words(target.kernels));
  for (const std::vector<std::string>& ops : target.siblings) add("siblings", join(ops, " "));
  add("several at once", words(target.several_at_once));
  add("stacked", words(target.stacked));
  return text + "\n";
}

}  // namespace meshwork
