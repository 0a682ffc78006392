#include "data/tokenizer/json_reader.h"

#include <utf8.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/nearest.h"
#include "base/quote.h"

namespace meshwork::data {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 8;

[[noreturn]] void fail_kind(const std::string& place, const char* wanted, const Json& value) {
  fail(ExitCode::kFile, "{}: must be {}, not {}", place, wanted, excerpt(json_dump(value)));
}

}  // namespace

JsonReader::JsonReader(const Json& value, std::string place)
    : value_(&value), place_(std::move(place)) {
  if (!value.is_object()) fail_kind(place_, "an object", value);
}

std::string JsonReader::place_of(std::string_view key) const {
  const bool is_inside = place_.find(": ") != std::string::npos;
  return fmt::format("{}{}{}", place_, is_inside ? "." : ": ", excerpt(key));
}

const Json* JsonReader::find(std::string_view key) {
  asked_.emplace(key);
  const auto found = value_->find(std::string(key));
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

const Json& JsonReader::require(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) fail_at(key, "is not there");
  return *value;
}

std::string JsonReader::text(std::string_view key) {
  const Json& value = require(key);
  if (!value.is_string()) fail_kind(place_of(key), "a text", value);
  return value.get<std::string>();
}

std::string JsonReader::text(std::string_view key, std::string_view otherwise) {
  return find(key) == nullptr ? std::string(otherwise) : text(key);
}

bool JsonReader::flag(std::string_view key, bool otherwise) {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail_kind(place_of(key), "true or false", *value);
  return value->get<bool>();
}

std::int64_t JsonReader::number(std::string_view key, std::int64_t least, std::int64_t most,
                                std::optional<std::int64_t> otherwise) {
  if (otherwise && find(key) == nullptr) return *otherwise;
  const Json& value = require(key);
  const bool fits = value.is_number_integer() && value >= least && value <= most;
  if (!fits) fail_kind(place_of(key), "a whole number in its range", value);
  return value.get<std::int64_t>();
}

std::string JsonReader::character(std::string_view key, std::optional<std::string> otherwise) {
  if (otherwise && find(key) == nullptr) return *otherwise;
  std::string one = text(key);
  if (utf8::distance(one.begin(), one.end()) != 1) fail_kind(place_of(key), "a character", one);
  return one;
}

JsonReader JsonReader::object(std::string_view key) {
  JsonReader reader(require(key), place_of(key));
  reader.depth_ = depth_;
  return reader;
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) {
  const Json& list = require(key);
  if (depth_ == kDeepest) fail_at(key, "more than {} lists in each other", kDeepest);
  if (!list.is_array()) fail_kind(place_of(key), "a list", list);
  std::vector<JsonReader> readers;
  for (const Json& value : list) {
    readers.emplace_back(value, fmt::format("{}[{}]", place_of(key), readers.size()));
    readers.back().depth_ = depth_ + 1;
  }
  return readers;
}

void JsonReader::finish() const {
  for (const auto& [key, value] : value_->items()) {
    if (!asked_.contains(key)) fail_at(key, "nothing is known of this key");
  }
}

void JsonReader::fail_unknown(std::string_view key, std::string_view word,
                              const std::vector<std::string>& known) const {
  fail_at(key, "'{}' is not read{}", excerpt(word), suggestion(word, known));
}

}  // namespace meshwork::data
