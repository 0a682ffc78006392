#include "config/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/join.h"
#include "base/nearest.h"
#include "base/quote.h"

namespace meshwork::config {
namespace {

std::optional<bool> parse_bool(const Value& value) {
  if (!value.is_scalar() || value.quoted) return std::nullopt;
  for (const char* word : {"true", "True", "TRUE"}) {
    if (value.scalar == word) return true;
  }
  for (const char* word : {"false", "False", "FALSE"}) {
    if (value.scalar == word) return false;
  }
  return std::nullopt;
}

template <class T>
std::optional<T> parse_number(const Value& value) {
  if (!value.is_scalar() || value.quoted || value.scalar.empty()) return std::nullopt;
  const char* begin = value.scalar.data();
  const char* end = begin + value.scalar.size();
  if (*begin == '+' && begin[1] != '-') ++begin;
  T number{};
  const auto [stop, status] = std::from_chars(begin, end, number);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return number;
}

constexpr std::string_view kLeaveOut = ", or leave it out";

/// Paths of the keys of this name in maps within `map`: "fit.batch_size".
std::vector<std::string> paths_within(const Value& map, std::string_view key) {
  std::vector<std::string> paths;
  for (const Value::Entry& entry : map.map) {
    if (!entry.value.is_map()) continue;
    if (entry.value.find(key) != nullptr) paths.push_back(fmt::format("{}.{}", entry.key, key));
    for (const std::string& path : paths_within(entry.value, key)) {
      paths.push_back(entry.key + "." + path);
    }
  }
  return paths;
}

}  // namespace

std::string to_string(const Location& at) {
  if (at.line == 0) return at.file;
  return fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kScalar:
      return fmt::format("'{}'", excerpt(value.scalar));
    case Value::Kind::kList:
      return "a list";
    case Value::Kind::kMap:
      return "a map";
  }
  return {};
}

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::of_text(std::string text, const Location& at) {
  Value value;
  value.kind = Kind::kScalar;
  value.at = at;
  value.scalar = std::move(text);
  return value;
}

const Value::Entry* Value::find(std::string_view key) const {
  const auto entry =
      std::find_if(map.begin(), map.end(), [&](const Entry& e) { return e.key == key; });
  return entry == map.end() ? nullptr : &*entry;
}

Value::Entry* Value::find(std::string_view key) {
  return const_cast<Entry*>(std::as_const(*this).find(key));
}

Value::Entry& Value::insert(std::string_view key, const Location& key_at) {
  MW_CHECK(is_map() || is_null());
  if (Entry* entry = find(key)) return *entry;
  kind = Kind::kMap;
  Entry entry{std::string(key), key_at, {}};
  entry.value.at = key_at;
  return map.emplace_back(std::move(entry));
}

Value Value::take(std::string_view key) {
  Value taken;
  taken.at = at;
  if (Entry* entry = find(key)) {
    taken = std::move(entry->value);
    map.erase(map.begin() + (entry - map.data()));
  }
  return taken;
}

std::vector<std::string> Value::keys() const {
  std::vector<std::string> result;
  for (const Entry& entry : map) result.push_back(entry.key);
  return result;
}

bool Value::is_bool() const { return parse_bool(*this).has_value(); }
bool Value::is_integer() const { return parse_number<std::int64_t>(*this).has_value(); }
bool Value::is_real() const { return parse_number<double>(*this).has_value(); }

bool Value::as_bool(std::string_view what) const {
  if (const auto parsed = parse_bool(*this)) return *parsed;
  fail_at(at, "{} must be true or false, not {}", what, describe(*this));
}

std::int64_t Value::as_integer(std::string_view what) const {
  if (const auto parsed = parse_number<std::int64_t>(*this)) return *parsed;
  fail_at(at, "{} must be an integer, not {}", what, describe(*this));
}

std::uint64_t Value::as_unsigned(std::string_view what) const {
  if (const auto parsed = parse_number<std::uint64_t>(*this)) return *parsed;
  fail_at(at, "{} must be an integer from 0 to 2^64 - 1, not {}", what, describe(*this));
}

double Value::as_real(std::string_view what) const {
  const auto parsed = parse_number<double>(*this);
  if (parsed && std::isfinite(*parsed)) return *parsed;
  fail_at(at, "{} must be a number, not {}", what, describe(*this));
}

std::string Value::as_string(std::string_view what) const {
  if (is_scalar()) return scalar;
  fail_at(at, "{} must be a word, not {}", what, describe(*this));
}

Shape Value::as_shape(std::string_view what) const {
  if (is_integer()) return {as_integer(what)};
  if (!is_list()) fail_at(at, "{} must be a list of integers, not {}", what, describe(*this));
  Shape shape;
  for (const Value& item : list) shape.push_back(item.as_integer(what));
  return shape;
}

void fail_unknown(const Value& value, std::string_view what,
                  const std::vector<std::string>& known) {
  fail_at(value.at, "{} '{}' is unknown{}", what, excerpt(value.scalar),
          suggestion(value.scalar, known));
}

Reader::Reader(const Value& map, std::string what) : value_(map), what_(std::move(what)) {
  if (!value_.is_map() && !value_.is_null()) {
    fail_at(value_.at, "{} must be a map of keys, not {}", what_, describe(value_));
  }
}

bool Reader::is_known(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

const Value* Reader::find(std::string_view key) {
  if (!is_known(key)) known_.emplace_back(key);
  const Value::Entry* entry = value_.find(key);
  return entry == nullptr || entry->value.is_null() ? nullptr : &entry->value;
}

const Value* Reader::find_refused(std::string_view key) {
  return value_.find(key) == nullptr ? nullptr : find(key);
}

const Value& Reader::require(std::string_view key) {
  if (const Value* value = find(key)) return *value;
  for (const Value::Entry& entry : value_.map) {
    if (is_known(entry.key) || nearest(entry.key, {std::string(key)}).empty()) continue;
    fail_at(entry.at, "{} needs the key '{}'; is '{}' meant for it?", what_, key,
            excerpt(entry.key));
  }
  fail_at(value_.at, "{} needs the key '{}'", what_, key);
}

bool Reader::get(std::string_view key, bool fallback) {
  if (const Value* value = find(key)) return value->as_bool(key);
  const Value::Entry* null = value_.find(key);
  if (fallback && null != nullptr) {  // Keras takes None for false
    fail_at(null->value.at, "{}: {} is null; write false, or leave it out for true", what_, key);
  }
  return fallback;
}

std::int64_t Reader::get(std::string_view key, std::int64_t fallback) {
  return get_integer(key).value_or(fallback);
}

double Reader::get(std::string_view key, double fallback) {
  return get_real(key).value_or(fallback);
}

std::string Reader::get(std::string_view key, const std::string& fallback) {
  const Value* value = find(key);
  return value == nullptr ? fallback : value->as_string(key);
}

void Reader::check(const Value& value, std::string_view key, double number, const Range& range,
                   std::string_view otherwise) const {
  const bool enough = range.has_least ? number >= range.least : number > range.least;
  if (enough && (range.has_most ? number <= range.most : number < range.most)) return;
  if (range.least == -std::numeric_limits<double>::infinity()) {
    fail_at(value.at, "{}: {} is {}; give {} or less{}", what_, key, value.scalar, range.most,
            otherwise);
  }
  if (range.has_least && range.has_most && std::isfinite(range.most)) {
    fail_at(value.at, "{}: {} is {}, not between {} and {}{}", what_, key, value.scalar,
            range.least, range.most, otherwise);
  }
  std::string wanted = range.has_least ? fmt::format("{} or more", range.least)
                                       : fmt::format("more than {}", range.least);
  if (!range.has_most) wanted += fmt::format(" and less than {}", range.most);
  fail_at(value.at, "{}: {} is {}; give {}{}", what_, key, value.scalar, wanted, otherwise);
}

std::optional<double> Reader::get_real(std::string_view key, const Range& range) {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  return checked(*value, key, value->as_real(key), range, kLeaveOut);
}

std::optional<double> Reader::get_optional(std::string_view key, std::optional<double> fallback,
                                           const Range& range) {
  if (find(key) == nullptr && value_.find(key) == nullptr) return fallback;
  return get_real(key, range);
}

std::optional<std::int64_t> Reader::get_integer(std::string_view key, const Range& range) {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  return checked(*value, key, value->as_integer(key), range, kLeaveOut);
}

double Reader::require_real(std::string_view key, const Range& range) {
  const Value& value = require(key);
  return checked(value, key, value.as_real(key), range);
}

std::int64_t Reader::require_integer(std::string_view key, const Range& range) {
  const Value& value = require(key);
  return checked(value, key, value.as_integer(key), range);
}

void Reader::finish() const {
  for (const Value::Entry& entry : value_.map) {
    if (!is_known(entry.key)) {
      const std::vector<std::string> paths = paths_within(value_, entry.key);
      fail_at(entry.at, "{} has no key '{}'{}", what_, excerpt(entry.key),
              paths.empty() ? suggestion(entry.key, known_)
                            : fmt::format("; there is '{}'", join(paths, "', '")));
    }
  }
}

}  // namespace meshwork::config
