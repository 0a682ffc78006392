// sum over the last dimension of (y / |y|) (p / |p|)
#include "model/losses/crossentropy.h"
#include "model/metrics/metric.h"

namespace meshwork::metrics {
namespace {

CompareFunction read(config::Reader& args) {
  losses::refuse_axis(args);
  return [](const Comparison& c) { return Compared{losses::cosine_similarity(c)}; };
}

}  // namespace

const MetricDef kCosineSimilarity{
    .names = {"CosineSimilarity", "cosine_similarity"},
    .read = read,
};

}  // namespace meshwork::metrics
