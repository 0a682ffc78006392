#include "data/augment/augment.h"

#include "config/config.h"
#include "config/lookup.h"

namespace meshwork::data {
namespace {

ImageOp read_op(const config::Value& value) {
  const config::ClassSpec spec = config::read_class(value, "augment");
  const ImageOpDef& def = config::look_up(image_ops(), spec, "augmentation");
  config::Reader args(spec.args, fmt::format("augment: {}", def.names[0]));
  ImageOp op{.name = std::string(def.names[0]), .seed = {}, .channels = def.channels, .apply = {}};
  if (const config::Value* seed = args.find("seed")) op.seed = seed->as_unsigned("seed");
  op.apply = def.parse(args);
  args.finish();
  return op;
}

}  // namespace

std::vector<ImageOp> read_augment(const config::Value& augment) {
  if (!augment.is_list()) return {read_op(augment)};
  std::vector<ImageOp> ops;
  for (const config::Value& item : augment.list) ops.push_back(read_op(item));
  return ops;
}

}  // namespace meshwork::data
