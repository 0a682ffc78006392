#include "data/tokenizer/surroundings.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace meshwork::data {
namespace {

using Json = nlohmann::json;

/// ["[SEP]", 102] at a key.
std::int32_t read_pair(JsonReader& reader, std::string_view key, const TokenTable& table) {
  const Json& pair = reader.require(key);
  const bool is_pair =
      pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer();
  if (!is_pair || !table.has(pair[1].get<std::int64_t>())) {
    reader.fail_at(key, "must be a token and its number, as [\"[SEP]\", 102]");
  }
  return pair[1].get<std::int32_t>();
}

Surroundings read_bert(JsonReader& reader, const TokenTable& table) {
  return {{read_pair(reader, "cls", table)}, {read_pair(reader, "sep", table)}};
}

Surroundings read_roberta(JsonReader& reader, const TokenTable& table) {
  reader.flag("trim_offsets", true);
  reader.flag("add_prefix_space", true);
  return read_bert(reader, table);
}

/// Changes places in the text, which nobody asks for.
Surroundings read_byte_level(JsonReader& reader, const TokenTable&) {
  for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) reader.flag(key, true);
  return {};
}

/// The numbers that `special_tokens` gives to a name.
std::vector<std::int32_t> numbers_of(JsonReader& special, const std::string& name,
                                     const TokenTable& table) {
  JsonReader entry = special.object(name);
  const Json& ids = entry.require("ids");
  if (!ids.is_array()) entry.fail_at("ids", "must be a list of numbers");
  std::vector<std::int32_t> numbers;
  for (const Json& id : ids) {
    if (!id.is_number_integer() || !table.has(id.get<std::int64_t>())) {
      entry.fail_at("ids", "{} is the number of no token", json_dump(id));
    }
    numbers.push_back(id.get<std::int32_t>());
  }
  return numbers;
}

/// [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, ..] of one text
Surroundings read_template(JsonReader& reader, const TokenTable& table) {
  reader.find("pair");  // of two texts, which nobody has
  JsonReader special = reader.object("special_tokens");
  Surroundings around;
  int texts = 0;
  for (JsonReader& part : reader.objects("single")) {
    if (part.find("Sequence") != nullptr) {
      ++texts;
      continue;
    }
    const std::string name = part.object("SpecialToken").text("id");
    const auto numbers = numbers_of(special, name, table);
    auto& side = texts == 0 ? around.before : around.behind;
    side.insert(side.end(), numbers.begin(), numbers.end());
    part.finish();
  }
  if (texts != 1) reader.fail_at("single", "has the text {} times, not once", texts);
  return around;
}

Surroundings read_sequence(JsonReader& reader, const TokenTable& table) {
  Surroundings around;
  for (JsonReader& step : reader.objects("processors")) {
    const Surroundings outer = read_surroundings(step, table);
    around.before.insert(around.before.begin(), outer.before.begin(), outer.before.end());
    around.behind.insert(around.behind.end(), outer.behind.begin(), outer.behind.end());
  }
  return around;
}

}  // namespace

Surroundings read_surroundings(JsonReader& reader, const TokenTable& table) {
  using Read = Surroundings (*)(JsonReader&, const TokenTable&);
  const Read read = reader.choose<Read>("type", "",
                                        {{"BertProcessing", read_bert},
                                         {"ByteLevel", read_byte_level},
                                         {"RobertaProcessing", read_roberta},
                                         {"Sequence", read_sequence},
                                         {"TemplateProcessing", read_template}});
  Surroundings around = read(reader, table);
  reader.finish();
  return around;
}

}  // namespace meshwork::data
