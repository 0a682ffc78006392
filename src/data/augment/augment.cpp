#include "data/augment/augment.h"

#include "config/config.h"
#include "config/lookup.h"

namespace meshwork::data {
namespace {

/// Appends what an entry of the list stands for.
void read_op(const config::Value& value, std::vector<ImageOp>& ops) {
  const config::ClassSpec spec = config::read_class(value, "augment");
  const ImageOpDef& def = config::look_up(image_ops(), spec, "augmentation");
  config::Reader args(spec.args, fmt::format("augment: {}", def.names[0]));
  std::optional<std::uint64_t> seed;
  if (const config::Value* given = args.find("seed")) seed = given->as_unsigned("seed");
  std::vector<ImageOp> steps;
  if (def.expand != nullptr) {
    steps = def.expand(args);
  } else {
    steps.push_back(make_op(def, args));
  }
  args.finish();
  for (ImageOp& step : steps) {
    if (step.name.empty()) step.name = def.names[0];
    step.seed = seed;
    ops.push_back(std::move(step));
  }
}

}  // namespace

ImageOp make_op(const ImageOpDef& def, config::Reader& args) {
  ImageOp op;
  op.channels = def.channels;
  if (def.parse_motion == nullptr) {
    op.apply = def.parse(args);
    return op;
  }
  const Motion motion = def.parse_motion(args);
  const auto with = [move = motion.move](const Sampling& sampling) -> ImageFunction {
    return [move, sampling](const ImageShape& shape, const Draws& draws, const float* from,
                            float* to) { move(shape, draws, sampling, from, to); };
  };
  op.apply = with(motion.sampling);
  op.for_masks = [with, mode = motion.sampling.fill_mode](float fill_value) {
    return with({mode, fill_value, Interpolation::kNearest});
  };
  return op;
}

std::vector<ImageOp> ops_for_masks(std::vector<ImageOp> ops, float fill_value) {
  for (ImageOp& op : ops) {
    op.channels = 0;
    op.apply = op.for_masks ? op.for_masks(fill_value) : nullptr;
  }
  return ops;
}

std::vector<ImageOp> read_augment(const config::Value& augment) {
  std::vector<ImageOp> ops;
  if (!augment.is_list()) {
    read_op(augment, ops);
    return ops;
  }
  for (const config::Value& item : augment.list) read_op(item, ops);
  return ops;
}

}  // namespace meshwork::data
