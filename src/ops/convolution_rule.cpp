#include "ops/convolution_rule.h"

#include <fmt/format.h>

#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

/// Channels of an image: all of the groups' together.
std::string channels(std::int64_t groups, std::int64_t per_group, const std::string& name) {
  if (groups == 1) return name;
  return per_group == 1 ? "g" : fmt::format("(g {})", name);
}

}  // namespace

ConvolutionTexts convolution_texts(const Attrs& attrs, const Shape& w, bool x_windowed) {
  const std::size_t spatial = w.size() - 2;
  const std::int64_t groups = attrs.integer("groups");
  const std::int64_t in = w[spatial], out = w.back() / groups;  // of a group
  ConvolutionTexts texts{.x = "n", .w = "", .y = "n"};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::string name = factor_name(i);
    texts.x += fmt::format(" {}{}", name, x_windowed ? "~" : "");
    texts.y += fmt::format(" {}{}", name, x_windowed ? "" : "~");
    texts.w += fmt::format("[k{}] ", name);
  }
  const std::string inner = groups > 1 && in == 1 ? "1" : "ci";
  texts.x += " " + channels(groups, in, "ci");
  texts.w += inner + " " + channels(groups, out, "co");
  texts.y += " " + channels(groups, out, "co");
  return texts;
}

Attrs with_kernel_extents(const Attrs& attrs, const Shape& w) {
  Attrs result = attrs;
  result.set("extents", Shape(w.begin(), w.end() - 2));
  return result;
}

double convolution_flops(const Shape& y, const Shape& w) {
  const std::int64_t filters = std::max<std::int64_t>(w.back(), 1);
  return 2.0 * static_cast<double>(num_elements(y)) *
         static_cast<double>(num_elements(w) / filters);
}

}  // namespace meshwork::ops
