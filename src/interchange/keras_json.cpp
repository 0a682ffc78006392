#include "interchange/keras_json.h"

#include <fmt/format.h>

namespace meshwork {
namespace {

/// The name by which Keras knows a class of another package, which stands first in `module`.
Json registered_name(std::string_view module, std::string_view class_name) {
  const std::string_view package = module.substr(0, module.find('.'));
  if (package == "keras") return nullptr;
  return fmt::format("{}>{}", package, class_name);
}

}  // namespace

Json object_of(std::string_view module, std::string_view class_name, Json arguments) {
  return {{"module", module},
          {"class_name", class_name},
          {"config", std::move(arguments)},
          {"registered_name", registered_name(module, class_name)}};
}

Json json_of(const config::Value& value) {
  if (value.is_list()) {
    Json list = Json::array();
    for (const config::Value& element : value.list) list.push_back(json_of(element));
    return list;
  }
  if (value.is_map()) {
    Json map = Json::object();
    for (const auto& entry : value.map) map[entry.key] = json_of(entry.value);
    return map;
  }
  if (value.is_null()) return nullptr;
  if (value.quoted) return value.scalar;
  if (value.is_bool()) return value.as_bool("");
  if (value.is_integer()) return value.as_integer("");
  if (value.is_real()) return value.as_real("");
  return value.scalar;
}

Json arguments_of(const config::ClassSpec& spec) {
  return spec.args.is_null() ? Json::object() : json_of(spec.args);
}

const std::map<std::string_view, std::string_view>& activation_layers() {
  static const std::map<std::string_view, std::string_view> layers{
      {"elu", "ELU"}, {"leaky_relu", "LeakyReLU"}, {"relu", "ReLU"}, {"softmax", "Softmax"}};
  return layers;
}

bool has_arguments(const config::ClassSpec& spec) { return !spec.args.map.empty(); }

}  // namespace meshwork
