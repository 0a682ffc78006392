// A sum of two samples (Zhang et al. 2018), weighted by a draw of Beta(alpha, alpha).
#include "data/augment/mix.h"

namespace meshwork::data {
namespace {

MixFunction parse(config::Reader& args) {
  const double alpha = args.get("alpha", 0.2, config::more_than(0));
  return [alpha](const ImageShape& /*shape*/, const DrawStream& /*of_batch*/, DrawStream draws) {
    return Mixture{.share = static_cast<float>(draws.beta(alpha)), .box = {}};
  };
}

}  // namespace

const MixOpDef kMixUp{.names = {"MixUp", "mix_up"}, .parse = parse};

}  // namespace meshwork::data
