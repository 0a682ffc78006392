// Distributions over one axis, the last by default
#include "model/activations/activation.h"
#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

Activation along_axis(config::Reader& args, const OpDef& op) {
  std::optional<config::Value> axis;
  if (const config::Value* given = args.find("axis")) axis = *given;
  return [axis, what = args.what(), at = args.at(), &op](GraphBuilder& b, ValueId x) {
    const config::Value* const given = axis ? &*axis : nullptr;
    return b.add(op, {x}, {{"axis", read_sample_axis(what, at, given, b.shape(x).size())}});
  };
}

}  // namespace

const ActivationDef kLogSoftmax{
    .names = {"log_softmax"},
    .read = [](config::Reader& args) { return along_axis(args, ops::kLogSoftmax); },
};

const ActivationDef kSoftmax{
    .names = {"softmax"},
    .read = [](config::Reader& args) { return along_axis(args, ops::kSoftmax); },
};

const ActivationDef kSparsemax{
    .names = {"sparsemax"},
    .read = [](config::Reader& args) { return along_axis(args, ops::kSparsemax); },
};

}  // namespace meshwork::activations
