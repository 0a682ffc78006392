#include "config/sections.h"

namespace meshwork::config {
namespace {

/// One class, or a list of them.
std::vector<ClassSpec> read_metrics(const Value* metrics) {
  std::vector<ClassSpec> specs;
  if (metrics == nullptr) return specs;
  if (!metrics->is_list()) return {read_class(*metrics, "metric")};
  for (const Value& metric : metrics->list) specs.push_back(read_class(metric, "metric"));
  return specs;
}

}  // namespace

CompileSpec read_compile(const Value& compile) {
  Reader reader(compile, "compile");
  CompileSpec spec;
  spec.at = compile.at;
  spec.optimizer.name = "rmsprop";
  spec.optimizer.at = spec.optimizer.args.at = compile.at;
  if (const Value* optimizer = reader.find("optimizer")) {
    spec.optimizer = read_class(*optimizer, "optimizer");
  }
  spec.metrics = read_metrics(reader.find("metrics"));
  spec.weighted_metrics = read_metrics(reader.find("weighted_metrics"));
  const Value* loss = reader.find("loss");
  reader.finish();
  spec.loss = read_class(loss != nullptr ? *loss : reader.require("loss"), "loss");
  return spec;
}

}  // namespace meshwork::config
