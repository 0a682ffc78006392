#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

namespace meshwork::config {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 200'000;  // aliases of aliases can stand for any number of values

class Converter {
 public:
  /// `fixed`: every place is `source`; else source names the file that the places are in.
  Converter(Location source, bool fixed) : source_(std::move(source)), fixed_(fixed) {}

  Location place(const YAML::Mark& mark) const {
    if (fixed_ || mark.is_null()) return source_;
    return {source_.file, mark.line + 1, mark.column + 1};
  }

  Value convert(const YAML::Node& node, int depth) {
    Value value;
    value.at = place(node.Mark());
    if (depth > kMaxDepth) fail_at(value.at, "values are nested more than {} deep", kMaxDepth);
    if (++count_ > kMaxValues) fail_at(value.at, "more than {} values, with aliases", kMaxValues);
    if (node.IsScalar()) {
      value.kind = Value::Kind::kScalar;
      value.scalar = node.Scalar();
      value.quoted = node.Tag() == "!";
    } else if (node.IsSequence()) {
      value.kind = Value::Kind::kList;
      for (const YAML::Node& item : node) value.list.push_back(convert(item, depth + 1));
    } else if (node.IsMap()) {
      value.kind = Value::Kind::kMap;
      convert_entries(node, depth, value);
    }
    return value;
  }

 private:
  void convert_entries(const YAML::Node& node, int depth, Value& value) {
    std::map<std::string, Location> first;
    for (const auto& entry : node) {
      const Location at = place(entry.first.Mark());
      if (!entry.first.IsScalar()) fail_at(at, "a key must be plain text");
      const std::string& key = entry.first.Scalar();
      const auto [known, is_new] = first.emplace(key, at);
      if (!is_new) {
        fail_at(at, "key '{}' stands twice, first at {}; remove one", key,
                to_string(known->second));
      }
      value.map.push_back({key, at, convert(entry.second, depth + 1)});
    }
  }

  Location source_;
  bool fixed_;
  int count_ = 0;
};

/// Hears of a parse only where documents begin.
class DocumentStarts : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> marks;

  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// What Load would silently leave out. (LoadAll never ends on some broken files.)
void reject_second_document(const std::string& text, const Converter& converter) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return;
  fail_at(converter.place(starts.marks[1]), "a second document begins; keep one in a file");
}

Value parse(const std::string& text, Converter& converter) {
  try {
    const YAML::Node document = YAML::Load(text);
    reject_second_document(text, converter);
    return converter.convert(document, 0);
  } catch (const YAML::Exception& error) {
    fail_at(converter.place(error.mark), "not valid YAML: {}", error.msg);
  }
}

void emit(const Value& value, YAML::Emitter& out) {
  switch (value.kind) {
    case Value::Kind::kNull:
      out << YAML::Null;
      break;
    case Value::Kind::kScalar:
      if (value.quoted) out << YAML::DoubleQuoted;
      out << value.scalar;
      break;
    case Value::Kind::kList:
      out << YAML::Flow << YAML::BeginSeq;
      for (const Value& item : value.list) emit(item, out);
      out << YAML::EndSeq;
      break;
    case Value::Kind::kMap:
      out << YAML::BeginMap;
      for (const Value::Entry& entry : value.map) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(entry.value, out);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

std::string to_yaml(const Value& value) {
  YAML::Emitter out;
  emit(value, out);
  return std::string(out.c_str()) + "\n";
}

Value parse_yaml(const std::string& text, const std::string& file) {
  Converter converter({file, 0, 0}, false);
  return parse(text, converter);
}

Value parse_yaml_at(const std::string& text, const Location& at) {
  Converter converter(at, true);
  return parse(text, converter);
}

Value load_yaml(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    fail("{}: is a folder; name a file in it", file);
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) fail("{}: cannot read the file; check the path", file);
  return parse_yaml(text.str(), file);
}

}  // namespace meshwork::config
