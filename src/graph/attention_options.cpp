#include "graph/attention_options.h"

#include "base/check.h"

namespace meshwork {

namespace {

bool is_set(const Attrs& attrs, std::string_view name) {
  return attrs.find(name) != nullptr && attrs.flag(name);
}

}  // namespace

AttentionOptions attention_options(const Attrs& attrs) {
  return {.scale = attrs.real("scale"),
          .causal = attrs.flag("causal"),
          .window = attrs.integer("window"),
          .rate = attrs.real("rate"),
          .key = attrs.integer("key"),
          .shifted = is_set(attrs, "shifted"),
          .segmented = is_set(attrs, "segmented"),
          .with_result = is_set(attrs, "with_result"),
          .by_head = is_set(attrs, "by_head")};
}

Shape log_sum_shape(const Shape& q, bool by_head) {
  return by_head ? Shape{q[0], q[2], q[3], q[1]} : Shape{q[0], q[1], q[2], q[3]};
}

Attrs attention_attrs(const AttentionOptions& options) {
  Attrs attrs{{"scale", options.scale},
              {"causal", options.causal},
              {"window", options.window},
              {"rate", options.rate},
              {"key", options.key}};
  if (options.shifted) attrs.set("shifted", true);
  if (options.segmented) attrs.set("segmented", true);
  if (options.with_result) attrs.set("with_result", true);
  if (options.by_head) attrs.set("by_head", true);
  return attrs;
}

AttentionExtras attention_extras(std::size_t fixed, std::size_t operands, const Attrs& attrs) {
  AttentionExtras extras;
  const AttentionOptions options = attention_options(attrs);
  if (options.segmented) {
    extras.key_segments = --operands;
    extras.query_segments = --operands;
  }
  if (options.shifted) extras.shift = --operands;
  if (attrs.real("rate") != 0) extras.step = --operands;
  if (operands > fixed) extras.mask = --operands;
  MW_CHECK(operands == fixed, "{} operands of attention", operands);
  return extras;
}

}  // namespace meshwork
