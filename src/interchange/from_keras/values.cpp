#include "interchange/from_keras/values.h"

#include <fmt/format.h>

#include "base/json.h"
#include "config/names.h"
#include "model/activations/activation.h"

namespace meshwork::from_keras {
namespace {

using config::Value;

/// The shortest text that gives the number, as float32 where that holds all of it: 0.001, not
/// 0.0010000000474974513.
std::string number_text(double number) {
  const auto single = static_cast<float>(number);
  return static_cast<double>(single) == number ? fmt::format("{}", single)
                                               : fmt::format("{}", number);
}

Value list_of(const Json& items) {
  Value list;
  list.kind = Value::Kind::kList;
  for (const Json& item : items) list.list.push_back(value_of(item));
  return list;
}

/// Functions stand by their names; of others there is nothing but code.
Value function_of(const Json& object) {
  const Json& name = object.at("config");
  return word(name.is_string() ? name.get<std::string>() : "lambda");
}

std::string bound(const Json& number) {
  return number.is_null() ? "" : std::to_string(whole(number));
}

/// One of Python's slices, as the key of a GetItem has it.
Value slice_of(const Json& object) {
  const Json& parts = object.at("config");
  std::string text = bound(parts.at("start")) + ":" + bound(parts.at("stop"));
  if (const std::string step = bound(parts.at("step")); !step.empty()) text += ":" + step;
  Value value = Value::of_text(text);
  value.quoted = true;
  return value;
}

Value map_of(const Json& json) {
  Value map;
  map.kind = Value::Kind::kMap;
  for (const auto& [key, entry] : json.items()) map.insert(key, {}).value = value_of(entry);
  return map;
}

Value of_class(const Json& object) {
  std::string name = object.at("class_name").get<std::string>();
  if (name == "__tuple__") return list_of(object.at("config").at("items"));
  if (name == "__slice__") return slice_of(object);
  if (name == "__ellipsis__") return word("...");
  if (name == "function") return function_of(object);
  std::set<std::string_view> left_out{"name", "dtype"};
  // A layer within another says it where it is not so.
  if (object.at("config").value("trainable", true)) left_out.insert("trainable");
  const Value args = arguments_of(object, left_out);
  if (args.map.empty()) return word(name);
  Value value;
  value.insert(name, {}).value = args;
  return value;
}

}  // namespace

bool is_object(const Json& json) {
  return json.is_object() && json.contains("class_name") && json.contains("config");
}

std::string foreign_package(const Json& object) {
  const Json registered = object.value("registered_name", Json());
  if (!registered.is_string()) return {};
  const std::string name = registered.get<std::string>();
  const std::size_t end = name.find('>');
  return end == std::string::npos ? std::string() : name.substr(0, end);
}

Value word(const std::string& text) {
  Value value = Value::of_text(text);
  const bool is_null = text.empty() || text == "~" || text == "null";
  value.quoted = is_null || value.is_bool() || value.is_real();
  return value;
}

Value words(const std::vector<std::string>& texts) {
  Value list;
  list.kind = Value::Kind::kList;
  for (const std::string& text : texts) list.list.push_back(word(text));
  return list;
}

Value value_of(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return word(json.get<std::string>());
  if (json.is_boolean()) return Value::of_text(json.get<bool>() ? "true" : "false");
  if (json.is_number_float()) return Value::of_text(number_text(json.get<double>()));
  if (json.is_number()) return Value::of_text(json_dump(json));
  if (json.is_array()) return list_of(json);
  // Tuples have their items beside the name of their class.
  if (json.value("class_name", "") == "__tuple__" && json.contains("items")) {
    return list_of(json.at("items"));
  }
  return is_object(json) ? of_class(json) : map_of(json);
}

Value arguments_of(const Json& object, const std::set<std::string_view>& left_out) {
  Value args;
  args.kind = Value::Kind::kMap;
  for (const auto& [key, argument] : object.at("config").items()) {
    if (argument.is_null() || left_out.contains(key)) continue;
    args.insert(key, {}).value = value_of(argument);
  }
  return args;
}

}  // namespace meshwork::from_keras
