#include "config/sections.h"

namespace meshwork::config {

CompileSpec read_compile(const Value& compile) {
  Reader reader(compile, "compile");
  CompileSpec spec;
  spec.at = compile.at;
  spec.optimizer.name = "rmsprop";
  spec.optimizer.at = spec.optimizer.args.at = compile.at;
  if (const Value* optimizer = reader.find("optimizer")) {
    spec.optimizer = read_class(*optimizer, "optimizer");
  }
  if (const Value* metrics = reader.find("metrics")) {
    if (metrics->is_list()) {
      for (const Value& metric : metrics->list)
        spec.metrics.push_back(read_class(metric, "metric"));
    } else {
      spec.metrics.push_back(read_class(*metrics, "metric"));
    }
  }
  const Value* loss = reader.find("loss");
  reader.finish();
  spec.loss = read_class(loss != nullptr ? *loss : reader.require("loss"), "loss");
  return spec;
}

}  // namespace meshwork::config
