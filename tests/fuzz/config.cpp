// What stands in a configuration and on the command line.
#include "config/config.h"

#include "config/expression.h"
#include "config/path_pattern.h"
#include "config/yaml.h"
#include "fuzz/targets.h"

namespace meshwork::fuzz {
namespace {

constexpr const char* kSmall = R"(mesh: {data: 2, model: 2}
layout_map: {d1/kernel: [null, model]}
dataset: {format: csv, splits: {train: a.csv}}
model: {input: [8], layers: [Dense: {name: d1, units: 4}]}
compile: {optimizer: {SGD: {momentum: 0.9}}, loss: mse, metrics: [mae]}
)";

template <class Read>
void read(const Read& call) {
  try {
    call();
  } catch (const Error&) {
  }
}

}  // namespace

void yaml(std::string_view bytes) {
  read([&] {
    config::parse_yaml(config::to_yaml(config::parse_yaml(std::string(bytes), "f")), "f");
  });
}

void config(std::string_view bytes) {
  read([&] { config::parse_config(std::string(bytes), "c.yaml", {}); });
}

void override_key(std::string_view bytes) {
  read([&] { config::parse_config(kSmall, "c.yaml", {"", {std::string(bytes)}}); });
}

void expression(std::string_view bytes) {
  config::Parameters parameters;
  parameters["n"] = config::parse_yaml("3", "f");
  parameters["on"] = config::parse_yaml("true", "f");
  parameters["widths"] = config::parse_yaml("[16, 32, 64]", "f");
  read([&] { config::evaluate(bytes, parameters, {"f", 1, 1}); });
}

void pattern(std::string_view bytes) {
  read([&] {
    const config::PathPattern pattern(std::string(bytes), {"f", 1, 1}, "layout_map");
    const std::vector<std::string> paths{"d1/kernel", "stage_1/basic/conv2d/kernel", "größe"};
    for (const std::string& path : paths) pattern.matches(path);
    pattern.describe_unmatched(paths, "no variable");
  });
}

}  // namespace meshwork::fuzz
