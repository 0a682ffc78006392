#include "config/yaml.h"

#include <yaml-cpp/yaml.h>

#include <fstream>
#include <sstream>

namespace meshwork::config {
namespace {

constexpr int kMaxDepth = 64;

Location location(const YAML::Mark& mark, const std::string& file) {
  return {file, mark.line + 1, mark.column + 1};
}

Value convert(const YAML::Node& node, const std::string& file, int depth) {
  Value value;
  value.at = location(node.Mark(), file);
  if (depth > kMaxDepth) fail_at(value.at, "values are nested more than {} deep", kMaxDepth);
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      break;
    case YAML::NodeType::Scalar:
      value.kind = Value::Kind::kScalar;
      value.scalar = node.Scalar();
      value.quoted = node.Tag() == "!";
      break;
    case YAML::NodeType::Sequence:
      value.kind = Value::Kind::kList;
      for (const YAML::Node& item : node) value.list.push_back(convert(item, file, depth + 1));
      break;
    case YAML::NodeType::Map:
      value.kind = Value::Kind::kMap;
      for (const auto& entry : node) {
        const Location at = location(entry.first.Mark(), file);
        if (!entry.first.IsScalar()) fail_at(at, "a key must be plain text");
        const std::string& key = entry.first.Scalar();
        if (value.find(key) != nullptr) {
          fail_at(at, "key '{}' stands twice, first at line {}; remove one", key,
                  value.find(key)->at.line);
        }
        value.map.push_back({key, at, convert(entry.second, file, depth + 1)});
      }
      break;
  }
  return value;
}

}  // namespace

Value parse_yaml(const std::string& text, const std::string& file) {
  try {
    return convert(YAML::Load(text), file, 0);
  } catch (const YAML::Exception& error) {
    const Location at = error.mark.is_null() ? Location{file, 0, 0} : location(error.mark, file);
    fail_at(at, "not valid YAML: {}", error.msg);
  }
}

Value load_yaml(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) fail("{}: cannot read the file; check the path", file);
  return parse_yaml(text.str(), file);
}

}  // namespace meshwork::config
