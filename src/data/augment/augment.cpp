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
    steps.push_back({.name = {}, .seed = {}, .channels = def.channels, .apply = def.parse(args)});
  }
  args.finish();
  for (ImageOp& step : steps) {
    if (step.name.empty()) step.name = def.names[0];
    step.seed = seed;
    ops.push_back(std::move(step));
  }
}

}  // namespace

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
