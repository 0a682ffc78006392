// sum over the last dimension of (y / |y|) (p / |p|)
#include "model/losses/cosine_similarity.h"
#include "model/losses/last_axis.h"
#include "model/metrics/metric.h"

namespace meshwork::metrics {
namespace {

CompareFunction read(config::Reader& args) {
  return losses::along_last(
      args, [](const Comparison& c) { return Compared{losses::cosine_similarity(c)}; });
}

}  // namespace

const MetricDef kCosineSimilarity{
    .names = {"CosineSimilarity", "cosine_similarity"},
    .read = read,
};

}  // namespace meshwork::metrics
