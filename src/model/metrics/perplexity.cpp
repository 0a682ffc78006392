// e to the power of the mean crossentropy of the true classes, as keras-hub has it; tokens
// `mask_token_id` do not count
#include "model/losses/crossentropy.h"
#include "model/metrics/metric.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

CompareFunction read(config::Reader& args) {
  const bool from_logits = args.get("from_logits", false);
  const auto masked = args.get_integer("mask_token_id");
  return [=](const Comparison& c) { return losses::compare_classes(c, from_logits, masked); };
}

}  // namespace

const MetricDef kPerplexity{
    .names = {"Perplexity", "perplexity"},
    .read = read,
    .greater_is_better = false,
    .result = MetricResult::kExpOfMean,
    .module = "keras_hub.metrics",
};

}  // namespace meshwork::metrics
